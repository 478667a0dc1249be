// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/arithmetic.h"

#include <cmath>
#include <cstdlib>

#include "core/require.h"

namespace kappascope::theory {

double exponential(double score) {
  return std::exp(score);
}

Rational exponential(const Rational& score) {
  const std::int64_t whole = std::llround(score.to_double());
  require(score == whole, "2^score is a fraction for whole scores only, got {}", score);
  Rational power = 1, base = 2;
  for (std::int64_t rest = std::abs(whole); rest > 0; rest /= 2) {
    if (rest % 2 == 1) power *= base;
    base *= base;
  }
  return whole < 0 ? 1 / power : power;
}

double soft_capped(double score, double cap) {
  return cap * std::tanh(score / cap);
}

Rational soft_capped(const Rational& score, const Rational& cap) {
  const Rational power = exponential(score);
  return cap * (power - 1) / (power + 1);
}

double square_root(double value) {
  return std::sqrt(value);
}

Rational square_root(const Rational& value) {
  constexpr std::int64_t kLargestDenominator = 64;
  const double root = std::sqrt(value.to_double());
  for (std::int64_t q = 1; q <= kLargestDenominator; ++q) {
    Rational guess = Rational(std::llround(root * static_cast<double>(q))) / q;
    if (guess * guess == value) return guess;
  }
  throw Error("the square root of " + value.text() + " is not a fraction of small denominator");
}

}  // namespace kappascope::theory
