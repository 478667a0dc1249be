// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/enclosure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/require.h"
#include "theory/exact/linalg.h"
#include "theory/tools/eigen.h"

namespace kappascope::theory {
namespace {

constexpr std::int64_t kGrid = std::int64_t{1} << 40;

/// To multiples of 1/parts. On a grid the fractions of a long sum do not grow beyond use.
Enclosure outward(const Rational& lower, const Rational& upper, std::int64_t parts = kGrid) {
  return {(lower * parts).floor() / parts, -(-upper * parts).floor() / parts};
}

/// The multiple of 2⁻⁴⁰ next to e^x on one side, by MPFR, on which FLINT stands.
Rational exp_rounded(const Rational& x, mpfr_rnd_t side) {
  mpfr_t power;
  mpfr_init2(power, 128);
  fmpq_get_mpfr(power, x.flint(), side);
  mpfr_exp(power, power, side);
  mpfr_mul_2ui(power, power, 40, side);
  mpz_t whole;
  mpz_init(whole);
  mpfr_get_z(whole, power, side);
  Rational multiple;
  fmpz_set_mpz(fmpq_numref(multiple.flint()), whole);
  mpz_clear(whole);
  mpfr_clear(power);
  return multiple / kGrid;
}

Rational from_double(double value) {
  return Rational(std::llround(std::ldexp(value, 40))) / kGrid;
}

Definiteness less_shift(const Matrix<Rational>& a, const Rational& shift) {
  return definiteness(a - Matrix<Rational>::identity(a.rows()) * shift);
}

/// λmin of `a`, for which floating point found `guess`.
Enclosure least(const Matrix<Rational>& a, double guess, double width) {
  Enclosure around{from_double(guess - width), from_double(guess + width)};
  require(less_shift(a, around.lower) == Definiteness::kPositiveDefinite &&
              less_shift(a, around.upper) == Definiteness::kNeither,
          "no end of the spectrum of {} was found near {}",
          a,
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
  const auto ends = outward(lower, upper, std::llround(std::pow(10, decimals)));
  return fmt::format("[{}, {}]", rounded(ends.lower), rounded(ends.upper));
}

Enclosure operator*(const Enclosure& a, const Enclosure& b) {
  const auto [low, high] =
      std::minmax({a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper});
  return low == high ? Enclosure(low) : outward(low, high);
}

Enclosure operator/(const Enclosure& a, const Enclosure& b) {
  require(b.lower > 0 || b.upper < 0, "the divisor {} may be zero", b);
  return a * Enclosure{1 / b.upper, 1 / b.lower};
}

std::optional<bool> less(const Enclosure& a, const Enclosure& b) {
  if (a.upper < b.lower) return true;
  if (a.lower >= b.upper) return false;
  return std::nullopt;
}

Enclosure as_printed(const std::string& decimal) {
  Rational digits = 0, unit = 1;
  for (std::size_t i = 0, point = decimal.find('.'); i < decimal.size(); ++i) {
    if (i == point) continue;
    digits = digits * 10 + (decimal[i] - '0');
    if (i > point) unit /= 10;
  }
  return {(digits - Rational(1, 2)) * unit, (digits + Rational(1, 2)) * unit};
}

Enclosure exp_enclosure(const Rational& x) {
  require(x >= -40 && x <= 40, "e^x is enclosed for |x| <= 40, got x = {}", x);
  return {exp_rounded(x, MPFR_RNDD), exp_rounded(x, MPFR_RNDU)};
}

Enclosure sigmoid_enclosure(const Rational& x) {
  // Only e to a negative power is needed: σ(x) = 1 - σ(-x).
  const auto t = exp_enclosure(x < 0 ? x : -x);
  const auto sigma = outward(1 / (1 + t.upper), 1 / (1 + t.lower));
  return x < 0 ? Enclosure(1) - sigma : sigma;
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
  require(min.lower > 0, "κ needs a positive definite matrix, got {}", a);
  return {max.lower / min.upper, max.upper / min.lower};
}

}  // namespace kappascope::theory
