// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/rational.h"

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/catch.h"

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;
using kappascope::theory::Rational;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

/// Fractions on both sides of what is kept in place, beside Boost's.
std::vector<std::pair<Rational, cpp_rational>> fractions() {
  std::vector<std::pair<Rational, cpp_rational>> all;
  const std::vector<std::int64_t> parts = {0,
                                           1,
                                           -1,
                                           2,
                                           -3,
                                           6,
                                           1'000'003,
                                           std::int64_t{1} << 53,
                                           -(std::int64_t{1} << 62),
                                           kMost,
                                           kLeast};
  for (const std::int64_t numerator : parts) {
    for (const std::int64_t denominator : parts) {
      if (denominator == 0) continue;
      // Boost's constructor takes no denominator below zero.
      all.emplace_back(Rational(numerator, denominator), cpp_rational(numerator) / denominator);
    }
  }
  const auto unsigned_most = std::numeric_limits<std::uint64_t>::max();
  all.emplace_back(Rational(unsigned_most), cpp_rational(unsigned_most));
  all.emplace_back(all.back().first * Rational(kMost), all.back().second * kMost);
  return all;
}

}  // namespace

TEST_CASE("a fraction is Boost's, whether it is kept in place or not") {
  const auto all = fractions();
  for (const auto& [a, exact_a] : all) {
    CAPTURE(exact_a);
    CHECK(a.text() == exact_a.str());
    CHECK(a.to_double() == exact_a.convert_to<double>());
    const cpp_rational below(cpp_rational(a.floor().text()));
    CHECK(below <= exact_a);
    CHECK(exact_a < below + 1);
    for (const auto& [b, exact_b] : all) {
      CAPTURE(exact_b);
      CHECK((a + b).text() == cpp_rational(exact_a + exact_b).str());
      CHECK((a - b).text() == cpp_rational(exact_a - exact_b).str());
      CHECK((a * b).text() == cpp_rational(exact_a * exact_b).str());
      CHECK((a <=> b) == (exact_a.compare(exact_b) <=> 0));
      CHECK((a == b) == (exact_a == exact_b));
      if (exact_b == 0) {
        CHECK_THROWS_AS(a / b, std::overflow_error);
      } else {
        CHECK((a / b).text() == cpp_rational(exact_a / exact_b).str());
      }
    }
  }
}
