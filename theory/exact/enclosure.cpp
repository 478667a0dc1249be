// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/enclosure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "core/require.h"
#include "theory/exact/linalg.h"
#include "theory/tools/eigen.h"

namespace kappascope::theory {
namespace {

constexpr std::int64_t kGrid = std::int64_t{1} << 40;

/// A multiple of 2⁻⁴⁰ not above `value`. Without it the fractions of a long sum would grow beyond
/// use.
Rational round_down(const Rational& value) {
  return (value * kGrid).floor() / kGrid;
}

Enclosure outward(const Rational& lower, const Rational& upper) {
  return {round_down(lower), -round_down(-upper)};
}

Enclosure exp_of_positive(const Rational& x) {
  Rational term = 1, sum = 0;
  const Rational negligible(std::int64_t{1}, std::int64_t{1} << 50);
  int k = 0;
  // Once k >= 2x each further term is at most half the one before.
  while (term > negligible || x * 2 > k) {
    sum += term;
    term *= x / ++k;
  }
  return {sum, sum + term * 2};
}

Rational from_double(double value) {
  constexpr int kBits = 40;
  return {std::llround(std::ldexp(value, kBits)), 1LL << kBits};
}

Definiteness less_shift(const Matrix<Rational>& a, const Rational& shift) {
  return definiteness(a - Matrix<Rational>::identity(a.rows(), a.cols()) * shift);
}

/// λmin of `a`, for which floating point found `guess`.
Enclosure least(const Matrix<Rational>& a, double guess, double width) {
  Enclosure around{from_double(guess - width), from_double(guess + width)};
  require(less_shift(a, around.lower) == Definiteness::kPositiveDefinite &&
              less_shift(a, around.upper) == Definiteness::kNeither,
          "no end of the spectrum of {} was found near {}",
          text(a),
          guess);
  return around;
}

}  // namespace

std::string Enclosure::text(int decimals) const {
  if (lower == upper) return lower.text();
  const auto rounded = [decimals](const Rational& value) {
    return fmt::format("{:.{}f}", value.to_double(), decimals);
  };
  if (rounded(lower) == rounded(upper)) return rounded(lower);
  const Rational unit(static_cast<std::int64_t>(std::pow(10, decimals)));
  return fmt::format("[{}, {}]",
                     rounded((lower * unit).floor() / unit),
                     rounded(-((-upper * unit).floor() / unit)));
}

Enclosure operator+(const Enclosure& a, const Enclosure& b) {
  return {a.lower + b.lower, a.upper + b.upper};
}

Enclosure operator-(const Enclosure& a, const Enclosure& b) {
  return {a.lower - b.upper, a.upper - b.lower};
}

Enclosure operator*(const Enclosure& a, const Enclosure& b) {
  const auto [low, high] =
      std::minmax({a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper});
  return low == high ? Enclosure(low) : outward(low, high);
}

Enclosure operator/(const Enclosure& a, const Enclosure& b) {
  require(b.lower > 0 || b.upper < 0, "the divisor {} may be zero", b.text());
  return a * Enclosure{1 / b.upper, 1 / b.lower};
}

std::optional<bool> less(const Enclosure& a, const Enclosure& b) {
  if (a.upper < b.lower) return true;
  if (a.lower >= b.upper) return false;
  return std::nullopt;
}

bool overlap(const Enclosure& a, const Enclosure& b) {
  return a.lower <= b.upper && b.lower <= a.upper;
}

Enclosure as_printed(const std::string& decimal) {
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

Enclosure exp_enclosure(const Rational& x) {
  require(x >= -40 && x <= 40, "e^x is enclosed for |x| <= 40, got x = {}", x.text());
  if (x >= 0) {
    const auto sum = exp_of_positive(x);
    return outward(sum.lower, sum.upper);
  }
  const auto inverse = exp_of_positive(-x);
  return outward(1 / inverse.upper, 1 / inverse.lower);
}

Enclosure sigmoid_enclosure(const Rational& x) {
  // Only e to a negative power is needed: σ(x) = 1 - σ(-x).
  const auto t = exp_enclosure(x < 0 ? x : -x);
  const auto sigma = outward(1 / (1 + t.upper), 1 / (1 + t.lower));
  return x < 0 ? Enclosure(1) - sigma : sigma;
}

Enclosure silu_enclosure(const Rational& x) {
  return Enclosure(x) * sigmoid_enclosure(x);
}

Extremes extreme_eigenvalues(const Matrix<Rational>& a) {
  const auto values = eigenvalues(to_double(a));
  const double low = values.front(), high = values.back();
  const double width = 5e-10 * std::max({std::abs(low), std::abs(high), 1e-2});
  const auto mirrored = least(-a, -high, width);
  return {least(a, low, width), {-mirrored.upper, -mirrored.lower}};
}

Enclosure kappa_enclosure(const Matrix<Rational>& a) {
  const auto [min, max] = extreme_eigenvalues(a);
  require(min.lower > 0, "κ needs a positive definite matrix, got {}", text(a));
  return {max.lower / min.upper, max.upper / min.lower};
}

}  // namespace kappascope::theory
