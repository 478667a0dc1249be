// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/input_bias.h"

#include <cmath>

#include "support/catch.h"
#include "theory/checks/bias_redundancy/before_norm.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

TEST_CASE("norms are what their definitions say") {
  const Vector<double> z = Matrix<double>{{-1}, {1}, {3}, {5}};
  const double mean = 2, variance = 5;
  const Vector<double> layer = layer_norm(z, 0.5).value(), rms = rms_norm(z, 0.5).value();
  for (Index i = 0; i < 4; ++i) {
    CHECK(layer(i) == Approx((z(i) - mean) / std::sqrt(variance + 0.5)));
    CHECK(rms(i) == Approx(z(i) / std::sqrt(z.squared_norm() / 4 + 0.5)));
  }
  CHECK(layer_norm(column({1, 7}), Rational(0)).value() == column({-1, 1}));
  CHECK(rms_norm(column({1, 7}), Rational(0)).value() == column({{1, 5}, {7, 5}}));
}

TEST_CASE("two normalised vectors are compared by sign and size") {
  const Normalised<Rational> one{column({1, -2}), 4}, scaled{column({2, -4}), 16};
  CHECK(same(one, scaled));
  CHECK_FALSE(same(one, {column({-1, 2}), 4}));
  CHECK_FALSE(same(one, {column({1, -2}), 5}));
}

TEST_CASE("samples behind a norm lie in its plane and span it") {
  const NormOutput layer{Norm::kLayer, column({1, 2, -1}), column({3, 0, 1})};
  const Matrix<Rational> x = layer.samples();
  const Vector<Rational> sums = x * layer.gain.map([](const auto& gain) { return 1 / gain; });
  for (const auto& sum : sums) CHECK(sum == 2);  // Σ β_j/γ_j
  CHECK(rank(x.plus_row(-x.row(0))) == 2);
  const NormOutput rms{Norm::kRms, layer.gain, layer.shift};
  const Matrix<Rational> y = rms.samples();
  CHECK(rank(y.plus_row(-y.row(0))) == 3);
  CHECK((y.row(0) + y.row(1)).transpose() / Rational(2) == rms.shift);
}

TEST_CASE("by hand: behind LayerNorm with β = (1, 0) the inputs (2, -1) and (0, 1) make a 1") {
  const NormOutput norm{Norm::kLayer, column({1, 1}), column({1, 0})};
  const Matrix<Rational> expected{{2, -1}, {0, 1}};
  CHECK(norm.samples() == expected);
  CHECK(norm_makes_constants(norm) == true);
  CHECK(norm_makes_constants({Norm::kRms, norm.gain, norm.shift}) == false);
  CHECK(norm_makes_constants({Norm::kLayer, norm.gain, column({1, -1})}) == false);
}
