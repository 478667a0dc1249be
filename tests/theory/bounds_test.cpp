// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/bounds.h"

#include <cmath>

#include "support/catch.h"

using namespace kappascope::theory;

TEST_CASE("the bounds of the exponential hold it and are narrow") {
  for (const int quarters : {0, 1, -1, 4, -4, 11, 32, -32, 60}) {
    const double x = quarters / 4.0;
    const auto bounds = exp_bounds(Rational(quarters, 4));
    CHECK(bounds.lower <= bounds.upper);
    CHECK((bounds.upper - bounds.lower) / bounds.lower < Rational(1L, 1'000'000'000'000L));
    CHECK(bounds.lower.to_double() == Approx(std::exp(x)).epsilon(1e-12));
  }
  // e to twenty digits.
  const Rational digits(2'718'281'828'459'045'235, 1'000'000'000'000'000'000);
  const auto e = exp_bounds(1);
  CHECK(e.lower <= digits + Rational(1L, 1'000'000'000'000'000'000L));
  CHECK(digits <= e.upper);
}

TEST_CASE("arithmetic holds every result of the ends") {
  const Bounds a{-1, 2}, b{3, 4};
  const auto same = [](const Bounds& x, const Rational& lower, const Rational& upper) {
    CHECK(x.lower == lower);
    CHECK(x.upper == upper);
  };
  same(a + b, 2, 6);
  same(a - b, -5, -1);
  same(a * b, -4, 8);
  same(a / b, Rational(-1, 3), Rational(2, 3));
  same(a * Bounds{-4, -3}, -8, 4);
  same(exactly(5), 5, 5);
  CHECK_THROWS_AS(a / Bounds({0, 1}), std::overflow_error);
}

TEST_CASE("two intervals overlap also where they touch") {
  CHECK(overlap({0, 1}, {1, 2}));
  CHECK(overlap({0, 9}, {3, 4}));
  CHECK_FALSE(overlap({0, 1}, {2, 3}));
  CHECK_FALSE(overlap({2, 3}, {0, 1}));
}

TEST_CASE("a printed decimal stands for what rounds to it") {
  const auto loss = as_printed("5.08");
  CHECK(loss.lower == Rational(5075, 1000));
  CHECK(loss.upper == Rational(5085, 1000));
  const auto count = as_printed("12");
  CHECK(count.lower == Rational(23, 2));
  CHECK(count.upper == Rational(25, 2));
  CHECK_FALSE(overlap(as_printed("4.9970"), as_printed("4.9969") - exactly({1, 10'000})));
  CHECK(overlap(as_printed("4.9970"), as_printed("4.997")));
}

TEST_CASE("bounds print rounded outward") {
  CHECK(Bounds{Rational(1, 3), Rational(2, 3)}.text() == "[0.3333, 0.6667]");
  CHECK(exactly({1, 3}).text() == "1/3");
}
