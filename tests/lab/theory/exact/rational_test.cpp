// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/rational.h"

#include <cstdint>
#include <limits>
#include <stdexcept>

#include "support/catch.h"

using kappascope::theory::Rational;

TEST_CASE("fractions are exact where doubles are not, and of any size") {
  CHECK(Rational(1, 10) + Rational(2, 10) == Rational(3, 10));
  CHECK(Rational(1, 3) < Rational(2, 3));
  CHECK(-Rational(1, 2) / Rational(1, 4) == -2);
  CHECK(Rational(-6, 4).text() == "-3/2");
  const auto least = std::numeric_limits<std::int64_t>::min();
  const auto most = std::numeric_limits<std::uint64_t>::max();
  CHECK((Rational(least) * Rational(least)).text() == "85070591730234615865843651857942052864");
  CHECK(Rational(most).text() == "18446744073709551615");
  CHECK(Rational(std::int64_t{1}, least).text() == "-1/9223372036854775808");
  CHECK_THROWS_AS(Rational(1) / Rational(0), std::overflow_error);
  CHECK_THROWS_AS(Rational(1, 0), std::overflow_error);
}

TEST_CASE("a fraction's whole part is below it, and its double the nearest") {
  CHECK(Rational(-3, 2).floor() == -2);
  CHECK(Rational(3, 2).floor() == 1);
  CHECK(Rational(-4).floor() == -4);
  CHECK(Rational(1, 4).to_double() == 0.25);
  CHECK(Rational(2, 3).to_double() == 2.0 / 3.0);
  // Halfway between two doubles, and a little above.
  const Rational half(1, 2), even(std::int64_t{1} << 53);
  CHECK((even + 1).to_double() == 0x1p53);
  CHECK((even + 1 + half).to_double() == 0x1p53 + 2);
}
