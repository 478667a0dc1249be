// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/proposition1/block_hessian.h"

#include "support/catch.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

TEST_CASE("five-point differences are exact for a quartic") {
  // f = x⁴ + 3x²y² + xy + 5 at (2, -1)
  const auto f = [](const IntegerVector& at) {
    const auto x = at(0), y = at(1);
    return x * x * x * x + 3 * x * x * y * y + x * y + 5;
  };
  const IntegerVector at{{2}, {-1}};
  const auto hessian = polynomial_hessian(f, at);
  CHECK(hessian(0, 0) == 12 * 4 + 6);
  CHECK(hessian(0, 1) == 12 * 2 * -1 + 1);
  CHECK(hessian(1, 0) == hessian(0, 1));
  CHECK(hessian(1, 1) == 6 * 4);
}

TEST_CASE("stationary cases have no gradient in b, and are of every kind") {
  int full_rank = 0, deficient = 0, absorbed = 0, residual_left = 0, wide = 0, tall = 0;
  for (const auto& one : stationary_cases(1, 500)) {
    const Matrix<Rational> w = exact(one.weight);
    const Vector<Rational> residual = one.mean_residual();
    REQUIRE(w * residual == Vector<Rational>::zero(one.d_ff()));
    (rank(w) == one.d_model() ? full_rank : deficient) += 1;
    absorbed += one.shifted_mean() == Vector<Rational>::zero(one.d_ff()) ? 1 : 0;
    residual_left += residual == Vector<Rational>::zero(one.d_model()) ? 0 : 1;
    wide += one.d_ff() < one.d_model() ? 1 : 0;
    tall += one.d_ff() > one.d_model() ? 1 : 0;
  }
  for (const int kind : {full_rank, deficient, absorbed, residual_left, wide, tall}) {
    CHECK(kind > 30);
  }
}

TEST_CASE("by hand: one feature that is always 1, W_d = 1, b = 0, target 0") {
  // L = ½((1 + b) w)²: second derivatives 1 in w, 1 in b, and 2(1 + b)w = 2 between them.
  RegressionCase one;
  one.phi = one.weight = IntegerMatrix::ones(1, 1);
  one.target = IntegerMatrix::zero(1, 1);
  one.bias = IntegerVector::zero(1);
  const auto hessian = joint_hessian(one);
  CHECK(hessian(0, 0) == 1);
  CHECK(hessian(1, 1) == 1);
  CHECK(hessian(0, 1) == 2);
}
