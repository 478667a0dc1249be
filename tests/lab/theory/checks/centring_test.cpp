// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "support/catch.h"
#include "theory/checks/centring/silu.h"
#include "theory/checks/centring/token_laws.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

TEST_CASE("token laws are laws, and centring leaves no mean") {
  int with_mean = 0, vanishing = 0, two_tokens = 0;
  for (const auto& law : token_laws(1, 400)) {
    CAPTURE(law.text());
    REQUIRE(law.expectation([](const Matrix<Rational>&) { return Rational(1); }) == 1);
    REQUIRE(law.centred().mean_row().squared_norm() == 0);
    const bool mean = law.mean_row().squared_norm() != 0;
    with_mean += mean ? 1 : 0;
    vanishing += mean && (law.mean_row() * law.up).squared_norm() == 0 ? 1 : 0;
    two_tokens += law.tokens() == 2 ? 1 : 0;
  }
  CHECK(with_mean > 200);
  CHECK(vanishing > 40);
  CHECK(two_tokens > 150);
}

TEST_CASE("the slope of silu is that of differences, and its largest value is enclosed") {
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  for (const std::int64_t halves : {-9, -3, 0, 1, 5, 12}) {
    const Rational x(halves, std::int64_t{2});
    const double at = x.to_double(), h = 1e-5;
    const double difference = (silu(at + h) - silu(at - h)) / (2 * h);
    CHECK(std::abs(silu_slope(x).middle() - difference) < 1e-8);
  }
  const auto steepest = silu_lipschitz_constant();
  CHECK((steepest.upper - steepest.lower).to_double() < 1e-5);
  double largest = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = -10 + i * 1e-3;
    largest = std::max(largest, (silu(x + 1e-3) - silu(x)) / 1e-3);
  }
  CHECK(std::abs(steepest.middle() - largest) < 1e-5);
}
