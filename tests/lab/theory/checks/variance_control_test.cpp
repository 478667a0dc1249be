// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "support/catch.h"
#include "theory/checks/variance_control/masked.h"
#include "theory/checks/variance_control/quadratic.h"
#include "theory/checks/variance_control/readout_cases.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

TEST_CASE("a quadratic is recovered from its values, with its stationary point") {
  const auto hessian = rows({{2, 1}, {1, 3}});
  const Vector<Rational> gradient = Vector<Rational>::unit(2, 0) * Rational(5);
  const ExactFunction f = [&](const Vector<Rational>& x) -> Rational {
    const Vector<Rational> curved = hessian * x;
    return 7 + gradient.dot(x) + curved.dot(x) / 2;
  };
  const auto found = quadratic_of(f, 2);
  CHECK(found.constant == 7);
  CHECK(found.gradient == gradient);
  CHECK(found.hessian == hessian);
  CHECK(gradient_of(f, 2) == gradient);
  const auto at = found.stationary_point().value();
  CHECK(at(0) == -3);
  CHECK(at(1) == 1);
  CHECK(found.at(at) == f(at));
  const auto sloping = quadratic_of([](const Vector<Rational>& x) { return x(0); }, 1);
  CHECK_FALSE(sloping.stationary_point());
}

TEST_CASE("optimal cases have residuals with mean zero, independent ones also no correlation") {
  int centred = 0, silent = 0;
  for (const auto& one : optimal_cases(1, 400)) {
    REQUIRE(column_mean(one.residuals()).squared_norm() == 0);
    centred += (one.mu() + one.bias).squared_norm() == 0 ? 1 : 0;
    silent += one.residuals().squared_norm() == 0 ? 1 : 0;
  }
  CHECK(centred > 50);
  CHECK(silent > 50);
  for (const auto& one : independent_cases(1, 400)) {
    const Matrix<Rational> residuals = one.residuals();
    REQUIRE(column_mean(residuals).squared_norm() == 0);
    const Matrix<Rational> squares = one.phi.cwise_product(one.phi);
    const Matrix<Rational> cross = squares.transpose() * residuals.cwise_product(residuals);
    const Vector<Rational> product_of_means = column_mean(squares);
    const Vector<Rational> r2 = column_mean(residuals.cwise_product(residuals));
    const Matrix<Rational> expected = product_of_means * r2.transpose();
    REQUIRE(cross / Rational(one.phi.rows()) == expected);
  }
}

TEST_CASE("readout cases are wide and tall, of full and of deficient rank") {
  int wide = 0, tall = 0, deficient = 0, no_target = 0;
  for (const auto& one : readout_cases(1, 400)) {
    wide += one.weight.cols() > one.weight.rows() ? 1 : 0;
    tall += one.weight.cols() < one.weight.rows() ? 1 : 0;
    deficient += rank(one.weight) < std::min(one.weight.rows(), one.weight.cols()) ? 1 : 0;
    no_target += one.mean_target().squared_norm() == 0 ? 1 : 0;
  }
  CHECK(wide > 80);
  CHECK(tall > 80);
  CHECK(deficient > 50);
  CHECK(no_target > 80);
}

TEST_CASE("by hand: S = 2 under p = 1/2 has Var(MS) = 1, and the best b takes away 1 of 2") {
  const LemmaTerms terms{{1, 2}, 2, 0, 1, 0};
  CHECK(derived_masked_mean(Scaling::kPlain)(terms) == 1);
  CHECK(derived_regressor_variance({})(terms) == 1);
  CHECK(derived_masked_mean(Scaling::kInverted)(terms) == 2);
  CHECK(derived_regressor_variance({Placement::kBeforeBias, Scaling::kInverted})(terms) == 4);
  CHECK(derived_shares(terms, {}).removed == 1);
  CHECK(derived_shares(terms, {}).left_by_dropout == 1);
}
