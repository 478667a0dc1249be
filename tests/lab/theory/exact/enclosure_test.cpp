// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/enclosure.h"

#include <algorithm>
#include <cmath>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope::theory;

namespace {

constexpr double kGrid = 0x1p-40;

/// Around `value`, and not wider than `width`. What `value` was computed from was rounded too: for
/// |x| <= 40 that moves e^x by a part in 2⁴⁷.
bool encloses(const Enclosure& found, double value, double width) {
  const double slack = std::abs(value) * 0x1p-47;
  return found.lower.to_double() <= value + slack && value - slack <= found.upper.to_double() &&
         (found.upper - found.lower).to_double() <= width;
}

}  // namespace

TEST_CASE("e^x and silu are enclosed, tightly, on all of their range") {
  for (std::int64_t tenths = -400; tenths <= 400; tenths += 7) {
    const Rational x(tenths, std::int64_t{10});
    const double at = x.to_double();
    CAPTURE(at);
    CHECK(encloses(exp_enclosure(x), std::exp(at), std::max(1.0, std::exp(at)) * 8 * kGrid));
    CHECK(encloses(sigmoid_enclosure(x), 1 / (1 + std::exp(-at)), 8 * kGrid));
    CHECK(encloses(silu_enclosure(x), at / (1 + std::exp(-at)), 400 * kGrid));
  }
  CHECK(exp_enclosure(0).lower == 1);
  CHECK(exp_enclosure(0).upper == 1);
  CHECK_THROWS_AS(exp_enclosure(41), kappascope::Error);
  CHECK_THROWS_AS(exp_enclosure(-41), kappascope::Error);
}

TEST_CASE("exact numbers stay exact, and signs are kept") {
  const Enclosure third(Rational(1, 3)), around(-1, 2);
  CHECK((third * third).lower == Rational(1, 9));
  CHECK((third * third).upper == Rational(1, 9));
  CHECK((around * around).lower == -2);
  CHECK((around * around).upper == 4);
  CHECK((third - around).lower == Rational(-5, 3));
  CHECK((third - around).upper == Rational(4, 3));
  CHECK(third.text() == "1/3");
}

TEST_CASE("arithmetic holds every result of the ends") {
  const Enclosure a{-1, 2}, b{3, 4};
  const auto same = [](const Enclosure& x, const Rational& lower, const Rational& upper) {
    CHECK(x.lower == lower);
    CHECK(x.upper == upper);
  };
  same(a + b, 2, 6);
  same(a - b, -5, -1);
  same(a * b, -4, 8);
  const auto ratio = a / b;
  CHECK(ratio.lower <= Rational(-1, 3));
  CHECK(ratio.upper >= Rational(2, 3));
  CHECK(ratio.upper - ratio.lower < 1 + Rational(1, 1'000'000));
  same(a * Enclosure{-4, -3}, -8, 4);
  CHECK_THROWS_AS(a / Enclosure(0, 1), kappascope::Error);
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
  CHECK_FALSE(overlap(as_printed("4.9970"), as_printed("4.9969") - Enclosure(Rational(1, 10'000))));
  CHECK(overlap(as_printed("4.9970"), as_printed("4.997")));
}

TEST_CASE("a number prints in as few digits as it is known to") {
  CHECK(Enclosure(Rational(1, 3)).text() == "1/3");
  CHECK(exp_enclosure(1).text() == "2.7183");
  CHECK(Enclosure(Rational(1, 3), Rational(2, 3)).text() == "[0.3333, 0.6667]");
  CHECK(Enclosure(Rational(-1, 3), Rational(2, 3)).text(2) == "[-0.34, 0.67]");
}

TEST_CASE("an order is told only where the enclosures lie apart") {
  const Enclosure low(0, 1), high(1, 2), across(0, 2);
  CHECK_FALSE(less(low, across));
  CHECK_FALSE(less(high, across));
  CHECK(less(low, Enclosure(Rational(3, 2))) == true);
  CHECK(less(high, low) == false);
  CHECK(less(Enclosure(1), Enclosure(1)) == false);
}

TEST_CASE("the ends of a spectrum are enclosed, and so is the condition number") {
  const Matrix<Rational> golden{{2, 1}, {1, 1}};  // eigenvalues (3 ± √5)/2
  const auto ends = extreme_eigenvalues(golden);
  CHECK(encloses(ends.min, (3 - std::sqrt(5.0)) / 2, 1e-8));
  CHECK(encloses(ends.max, (3 + std::sqrt(5.0)) / 2, 1e-8));
  CHECK(encloses(kappa_enclosure(golden), (7 + 3 * std::sqrt(5.0)) / 2, 1e-6));
  const Matrix<Rational> zero = Matrix<Rational>::zero(2, 2);
  CHECK(extreme_eigenvalues(zero).min.lower < 0);
  CHECK(extreme_eigenvalues(zero).max.upper > 0);
  CHECK_THROWS_AS(kappa_enclosure(zero), kappascope::Error);
}
