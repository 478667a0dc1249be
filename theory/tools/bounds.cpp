// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kappascope::theory {

std::string Bounds::text() const {
  constexpr double kUnit = 1e4;
  if (lower == upper) return lower.text();
  return fmt::format("[{:.4f}, {:.4f}]",
                     std::floor(lower.to_double() * kUnit) / kUnit,
                     std::ceil(upper.to_double() * kUnit) / kUnit);
}

Bounds operator+(const Bounds& a, const Bounds& b) {
  return {a.lower + b.lower, a.upper + b.upper};
}

Bounds operator-(const Bounds& a, const Bounds& b) {
  return {a.lower - b.upper, a.upper - b.lower};
}

Bounds operator*(const Bounds& a, const Bounds& b) {
  const auto ends = {a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper};
  return {std::min(ends), std::max(ends)};
}

Bounds operator/(const Bounds& a, const Bounds& b) {
  return a * Bounds{1 / b.upper, 1 / b.lower};
}

bool overlap(const Bounds& a, const Bounds& b) {
  return a.lower <= b.upper && b.lower <= a.upper;
}

Bounds exp_bounds(const Rational& x) {
  if (x < 0) return Bounds{1, 1} / exp_bounds(-x);
  const Rational negligible(1L, 4'000'000'000'000L);
  Rational sum = 0, term = 1;
  // From k >= 2x on each term is at most half the one before: the rest is less than twice the next.
  for (int k = 1; term > negligible || k < 2 * x; ++k) {
    sum += term;
    term *= x / k;
  }
  return {sum, sum + 2 * term};
}

Bounds as_printed(const std::string& decimal) {
  std::int64_t digits = 0, unit = 1;
  bool after_point = false;
  for (const char letter : decimal) {
    if (letter == '.') {
      after_point = true;
      continue;
    }
    digits = 10 * digits + (letter - '0');
    if (after_point) unit *= 10;
  }
  return {Rational(2 * digits - 1, 2 * unit), Rational(2 * digits + 1, 2 * unit)};
}

}  // namespace kappascope::theory
