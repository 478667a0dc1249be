// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offset_routes/gated_layer.h"

#include <cmath>

#include "support/catch.h"
#include "theory/checks/offset_routes/norm_offset.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

TEST_CASE("gates have their values, and act(t) - act(-t) = t for SiLU and ReLU") {
  for (const Rational& t : {Rational(-3), Rational(-1, 2), Rational(0), Rational(2, 3)}) {
    const double x = t.to_double(), sigma = 1 / (1 + std::exp(-x));
    CHECK(activate(Gate::kBilinear, t) == FormalSum(t));
    CHECK(activate(Gate::kRelu, t).to_double(logistic) == Approx(std::max(x, 0.0)));
    CHECK(activate(Gate::kSilu, t).to_double(logistic) == Approx(x * sigma));
    CHECK(activate(Gate::kLogistic, t).to_double(logistic) == Approx(sigma));
    for (const auto gate : {Gate::kSilu, Gate::kRelu}) {
      CHECK(activate(gate, t) - activate(gate, -t) == FormalSum(t));
    }
  }
}

TEST_CASE("σ(t) + σ(-t) = 1 at every rational e^{-t}") {
  // What the symbols assume, in the algebra of r = e^{-t}: 1/(1 + r) + 1/(1 + 1/r).
  for (int n = 1; n < 20; ++n) {
    const Rational r(n, 7);
    CHECK(1 / (1 + r) + 1 / (1 + 1 / r) == 1);
  }
}

TEST_CASE("by hand: two units, with and without a bias") {
  const GatedLayer layer{Gate::kSilu,
                         rows({{1, 2}, {0, 1}}),
                         rows({{1, 0}, {1, -1}}),
                         column({1, 0}),
                         rows({{1}, {3}})};
  // At x = (1, 2): u = (1, 4), g = (3, -2).
  const double s0 = 3 / (1 + std::exp(-3.0)), s1 = 4 * -2 / (1 + std::exp(2.0));
  CHECK(layer(column({1, 2}))[0].to_double(logistic) == Approx(s0 + 1 + 3 * s1));
  CHECK(without_bias(layer)(column({1, 2}))[0].to_double(logistic) == Approx(s0 + 3 * s1));
  CHECK(beside(layer, layer)(column({1, 2}))[0].to_double(logistic) ==
        Approx(2 * (s0 + 1 + 3 * s1)));
}

TEST_CASE("normalised points are different and have ‖x‖² = d") {
  Random random(1);
  for (const Index d : {1, 2, 3, 4}) {
    const auto points = normalised_points(d, 20, random);
    CHECK(points.size() == (d == 1 ? 2 : 20));
    for (std::size_t i = 0; i < points.size(); ++i) {
      CHECK(points[i].dot(points[i]) == d);
      for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(points[i] == points[j]);
    }
  }
}

TEST_CASE("norms have their values") {
  const auto root = [](double k) { return std::sqrt(k); };
  const Halves x{2, -6, 3};  // (1, -3, 3/2)
  const double mean = -0.5 / 3, mean_square = 12.25 / 3;
  for (const std::int64_t quarters : {0, 1, 4}) {
    const double eps = static_cast<double>(quarters) / 4;
    const auto rms = normalise(NormKind::kRmsNorm, quarters, x);
    const auto layer = normalise(NormKind::kLayerNorm, quarters, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double entry = static_cast<double>(x[i]) / 2;
      CHECK(rms[i].to_double(root) == Approx(entry / std::sqrt(mean_square + eps)));
      CHECK(layer[i].to_double(root) ==
            Approx((entry - mean) / std::sqrt(mean_square - mean * mean + eps)));
    }
  }
  CHECK(normalise(NormKind::kRmsNorm, 0, {14, 2})[0] == FormalSum(Rational(7, 5)));
  CHECK(normalise(NormKind::kLayerNorm, 0, {5, 5}).empty());
}
