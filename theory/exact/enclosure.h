// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "theory/exact/rational.h"

namespace kappascope::theory {

/// A number known to lie between two fractions, ends included: what lets a statement about eˣ, or
/// about a number that was printed with few digits, be decided exactly. Every operation encloses
/// every result that the numbers inside can have; products are rounded outward to multiples of
/// 2⁻⁴⁰.
struct Enclosure {
  Rational lower, upper;

  Enclosure() = default;
  Enclosure(const Rational& low, const Rational& high) : lower(low), upper(high) {}
  Enclosure(const Rational& exact) : lower(exact), upper(exact) {}  // NOLINT: it is one

  [[nodiscard]] double middle() const { return (lower.to_double() + upper.to_double()) / 2; }
  /// "1/3" where it is exact, "0.7311" where all numbers inside round to that, and otherwise both
  /// ends rounded outward: "[4.8849, 4.8951]".
  [[nodiscard]] std::string text(int decimals = 4) const;
};

inline Enclosure operator+(const Enclosure& a, const Enclosure& b) {
  return {a.lower + b.lower, a.upper + b.upper};
}
inline Enclosure operator-(const Enclosure& a, const Enclosure& b) {
  return {a.lower - b.upper, a.upper - b.lower};
}
Enclosure operator*(const Enclosure& a, const Enclosure& b);
/// Throws Error where b may be zero.
Enclosure operator/(const Enclosure& a, const Enclosure& b);

/// Whether a < b; nothing where the enclosures overlap, which decides nothing.
std::optional<bool> less(const Enclosure& a, const Enclosure& b);
/// Whether one number can lie in both.
inline bool overlap(const Enclosure& a, const Enclosure& b) {
  return a.lower <= b.upper && b.lower <= a.upper;
}

/// What a printed decimal may stand for: "5.08" is [5.075, 5.085]. Digits with at most one point.
Enclosure as_printed(const std::string& decimal);

/// e^x, for |x| <= 40. Throws Error outside.
Enclosure exp_enclosure(const Rational& x);
/// σ(x) = 1/(1 + e^{-x}), for |x| <= 40.
Enclosure sigmoid_enclosure(const Rational& x);
/// silu(x) = xσ(x), for |x| <= 40.
inline Enclosure silu_enclosure(const Rational& x) {
  return Enclosure(x) * sigmoid_enclosure(x);
}

struct Extremes {
  Enclosure min, max;
};

/// The ends of the spectrum of a symmetric matrix between fractions, about 1e-9 of the largest
/// |eigenvalue| apart: guesses from floating point, each verified exactly. The true
/// end lies strictly inside. Entries up to about 1e6. Throws Error where a guess fails.
Extremes extreme_eigenvalues(const Matrix<Rational>& a);

/// λmax/λmin of a positive definite matrix. Throws Error when λmin is not found above zero.
Enclosure kappa_enclosure(const Matrix<Rational>& a);

}  // namespace kappascope::theory
