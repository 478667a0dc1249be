// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/significance.h"

#include <cmath>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::theory;

namespace {

bool encloses(const Enclosure& bounds, const Rational& value) {
  return bounds.lower <= value && value <= bounds.upper &&
         bounds.upper - bounds.lower <= Rational(1L, 1L << 60);
}

}  // namespace

TEST_CASE("a binomial tail is the sum of its terms") {
  CHECK(encloses(binomial_tail(3, 2, Rational(1, 2)), Rational(1, 2)));
  CHECK(encloses(binomial_tail(2, 1, Rational(1, 3)), Rational(5, 9)));
  CHECK(encloses(binomial_tail(5, 0, Rational(1, 7)), 1));
  CHECK(encloses(binomial_tail(5, 5, Rational(1, 2)), Rational(1, 32)));
  CHECK(encloses(binomial_tail(4, 2, 0), 0));
  CHECK(encloses(binomial_tail(4, 2, 1), 1));
  CHECK_THROWS_AS(binomial_tail(4, 5, Rational(1, 2)), Error);
}

TEST_CASE("the distribution of a variance ratio agrees with tables") {
  CHECK(encloses(variance_ratio_cdf(1, 5), Rational(1, 2)));
  CHECK(encloses(variance_ratio_cdf(1, 1001), Rational(1, 2)));
  // F(2, 2): P(F <= f) = f/(1+f).
  CHECK(encloses(variance_ratio_cdf(19, 3), Rational(19, 20)));
  // The 97.5 % points of F(4, 4) and F(10, 10).
  CHECK(variance_ratio_cdf(Rational(96'045, 10'000), 5).lower.to_double() ==
        Approx(0.975).epsilon(1e-5));
  CHECK(variance_ratio_cdf(Rational(37'168, 10'000), 11).lower.to_double() ==
        Approx(0.975).epsilon(1e-5));
  CHECK(encloses(variance_ratio_cdf(Rational(17, 20), 5), Rational(22'253, 50'653)));
  CHECK_THROWS_AS(variance_ratio_cdf(1, 4), Error);
}

TEST_CASE("Student's confidence agrees with tables") {
  const auto confidence = [](double t, int degrees) {
    const Rational fraction = Rational(std::llround(t * 100'000)) / 100'000;
    return std::sqrt(student_confidence_squared(fraction * fraction, degrees).to_double());
  };
  CHECK(confidence(4.30265, 2) == Approx(0.95).epsilon(1e-6));
  CHECK(confidence(2.77645, 4) == Approx(0.95).epsilon(1e-6));
  CHECK(confidence(2.11991, 16) == Approx(0.95).epsilon(1e-5));
  CHECK(confidence(4.60409, 4) == Approx(0.99).epsilon(1e-6));
  CHECK(student_confidence_squared(Rational(3, 2), 4) == Rational(675, 1331));
  CHECK(student_confidence_squared(0, 6) == 0);
  CHECK_THROWS_AS(student_confidence_squared(1, 3), Error);
}
