// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "theory/tools/rational.h"

namespace kappascope::theory {

/// A real number that is no fraction, known to lie between two fractions: what lets a statement
/// about e be refuted exactly. Every operation encloses every result that the numbers inside can
/// have; products are rounded outward to multiples of 2⁻⁴⁰ and must stay below 2²².
struct Enclosure {
  Rational lower, upper;

  Enclosure() = default;
  Enclosure(Rational low, Rational high) : lower(std::move(low)), upper(std::move(high)) {}
  Enclosure(const Rational& exact) : lower(exact), upper(exact) {}  // NOLINT: it is one

  [[nodiscard]] double middle() const { return (lower.to_double() + upper.to_double()) / 2; }
  /// The middle to four decimals, "0.7311"; the fraction itself where it is exact.
  [[nodiscard]] std::string text() const;
};

Enclosure operator+(const Enclosure& a, const Enclosure& b);
Enclosure operator-(const Enclosure& a, const Enclosure& b);
Enclosure operator*(const Enclosure& a, const Enclosure& b);

/// Whether a < b; nothing where the enclosures overlap, which decides nothing.
std::optional<bool> less(const Enclosure& a, const Enclosure& b);

/// e^x by its partial sum and a geometric bound of the rest, for -40 <= x <= 15; some tens of exact
/// operations. Throws Error outside.
Enclosure exp_enclosure(const Rational& x);
/// σ(x) = 1/(1 + e^{-x}), for |x| <= 40.
Enclosure sigmoid_enclosure(const Rational& x);
/// silu(x) = xσ(x), for |x| <= 40.
Enclosure silu_enclosure(const Rational& x);

struct Extremes {
  Enclosure min, max;
};

/// The ends of the spectrum of a symmetric matrix between fractions, about 1e-9 of the largest
/// |eigenvalue| apart: guesses from floating point, each verified by exact elimination. The true
/// end lies strictly inside. Entries up to about 1e6. Throws Error where a guess fails. O(n³) exact
/// operations.
Extremes extreme_eigenvalues(const Matrix<Rational>& a);

/// λmax/λmin of a positive definite matrix. Throws Error when λmin is not found above zero.
Enclosure kappa_enclosure(const Matrix<Rational>& a);

}  // namespace kappascope::theory
