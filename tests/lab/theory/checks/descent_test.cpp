// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "support/catch.h"
#include "theory/checks/descent/correction.h"
#include "theory/checks/descent/gated_draws.h"
#include "theory/checks/descent/gradient_descent.h"
#include "theory/checks/descent/joint.h"
#include "theory/checks/variance_control/quadratic.h"
#include "theory/checks/variance_control/readout_cases.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

TEST_CASE("the joint Hessian is that of the loss with a free intercept") {
  for (const auto& one : readout_cases(1, 60)) {
    const Index d = one.weight.rows();
    const Vector<Rational> target = one.target.col(0);
    const auto loss = quadratic_of(
        [&](const Vector<Rational>& at) -> Rational {
          const Vector<Rational> output = one.phi * at.segment(0, d);
          const Vector<Rational> residual =
              output + Vector<Rational>::ones(target.size()) * at(d) - target;
          return residual.squared_norm() / Rational(2 * target.size());
        },
        d + 1);
    GramCase moments;
    moments.lambda = moments.mean = moments.mu = one.mu();
    moments.sigma = one.sigma();
    CHECK(loss.hessian == joint_hessian_of(moments));
  }
}

TEST_CASE("gradient descent takes the steps that its contraction says") {
  const Matrix<double> isotropic = Matrix<double>::identity(2) * 3, golden{{2, 1}, {1, 1}};
  CHECK(steps_to_converge(isotropic) == 1);
  const double kappa = (7 + 3 * std::sqrt(5.0)) / 2;
  const double expected = std::log(1e-6) / std::log((kappa - 1) / (kappa + 1));
  CHECK(steps_to_converge(golden) == static_cast<int>(std::ceil(expected)));
}

TEST_CASE("fewer steps on J than beside it would leave the verdict open") {
  const auto worse = [](const GramCase& one) {
    auto larger = joint_hessian_of(one);
    larger(0, 0) += 1000;
    return larger;
  };
  CHECK(check_steps(weight_block, 1).outcome == Outcome::kHolds);
  CHECK(check_steps(worse, 1).outcome == Outcome::kUndecided);
}

TEST_CASE("the minimiser of least norm solves the normal equations without a part on the kernel") {
  OffsetCase one{Matrix<Rational>::zero(1, 2), column({3, 4}), column({50}), {}, 1};
  one.start = Matrix<Rational>::zero(1, 2);
  const auto found = one.least_norm();
  CHECK(found(0, 0) == 6);  // Lemma 1: 50·(3, 4)/25
  CHECK(found(0, 1) == 8);
  CHECK(derived_iterate(one, 0) == one.start);
}

TEST_CASE("the corrected weight takes b_in to what it was and b_out") {
  CorrectionCase one;
  one.weight = Matrix<Rational>::identity(2);
  one.b_in = column({3, 4});
  one.b_out = Vector<Rational>::unit(2, 0);
  const Vector<Rational> sent = one.corrected() * one.b_in;
  CHECK(sent(0) == 4);
  CHECK(sent(1) == 4);
}

TEST_CASE("cells cover every input, width and ratio, and one seed gives one answer") {
  const auto says = [](double second_moment, double covariance) {
    return second_moment >= covariance;
  };
  const auto first = gated_cells(says, 7), again = gated_cells(says, 7);
  REQUIRE(first.size() == 27);
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].as_stated == again[i].as_stated);
    CHECK(first[i].as_stated <= first[i].draws);
  }
}
