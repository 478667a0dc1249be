// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/proposition1/spectrum.h"

#include "support/catch.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

namespace {

/// Σ = diag(λ), μ = m.
GramCase diagonal(std::initializer_list<Rational> lambda, std::initializer_list<Rational> mean) {
  GramCase one;
  one.lambda = column(lambda);
  one.mean = column(mean);
  one.sigma = one.lambda.as_diagonal();
  one.mu = one.mean;
  return one;
}

}  // namespace

TEST_CASE("the top eigenvalue grows along itself, or when another overtakes it") {
  CHECK(top_grows(diagonal({2, 1}, {1, 0})));
  CHECK_FALSE(top_grows(diagonal({2, 1}, {0, 1})));  // 1 + 1 only draws level
  CHECK(top_grows(diagonal({2, 1}, {0, 2})));
  CHECK_FALSE(top_grows(diagonal({2, 1}, {0, 0})));
  CHECK(top_grows(diagonal({1, 0}, {0, 2})));  // also with μ in the kernel of Σ
}

TEST_CASE("kappa grows along the top and falls along the bottom") {
  CHECK(kappa_at_least(diagonal({2, 1}, {1, 0}), Convention::kInfinite));
  CHECK_FALSE(kappa_at_least(diagonal({2, 1}, {0, 1}), Convention::kInfinite));
  CHECK(kappa_at_least(diagonal({2, 1}, {0, 2}), Convention::kInfinite));  // 2 becomes 5/2
  CHECK(kappa_at_least(diagonal({2, 1, 1}, {0, 0, 1}), Convention::kInfinite));
  CHECK(kappa_at_least(diagonal({3}, {1}), Convention::kInfinite));
}

TEST_CASE("kappa of a singular matrix depends on what one calls kappa") {
  const auto fills_the_gap = diagonal({1, 0}, {0, 1});
  CHECK_FALSE(kappa_at_least(fills_the_gap, Convention::kInfinite));
  CHECK(kappa_at_least(fills_the_gap, Convention::kNonzero));
  CHECK(kappa_at_least(diagonal({1, 0, 0}, {0, 1, 0}), Convention::kInfinite));
  const auto in_range = diagonal({2, 1, 0}, {0, 1, 0});
  CHECK(kappa_at_least(in_range, Convention::kInfinite));
  CHECK_FALSE(kappa_at_least(in_range, Convention::kNonzero));
}

TEST_CASE("the closed form of the plane is the secular condition") {
  int both = 0;
  for (const auto& one : gram_cases(4)) {
    if (one.dimension() != 2 || one.rank() != 2) continue;
    ++both;
    CAPTURE(one.text());
    REQUIRE(kappa_at_least_in_plane(one) == kappa_at_least(one, Convention::kInfinite));
  }
  CHECK(both > 200);
}
