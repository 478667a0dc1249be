// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "theory/tools/rational.h"

namespace kappascope::theory {

/// Two fractions between which a number lies, ends included: a statement about eˣ, or about a
/// number that was printed with few digits, is decided where the whole interval agrees.
struct Bounds {
  Rational lower, upper;

  [[nodiscard]] std::string text() const;  ///< "[-0.2690, -0.2689]", rounded outward
};

Bounds operator+(const Bounds& a, const Bounds& b);
Bounds operator-(const Bounds& a, const Bounds& b);
Bounds operator*(const Bounds& a, const Bounds& b);
/// Throws std::overflow_error when an end of `b` is zero; b must not hold zero.
Bounds operator/(const Bounds& a, const Bounds& b);

inline Bounds exactly(const Rational& value) {
  return {value, value};
}
/// Whether one number can lie in both.
bool overlap(const Bounds& a, const Bounds& b);

/// eˣ to within 1e-12 of itself: the partial sum of its series, and the same with a geometric
/// series in place of the rest. O(|x|) terms.
Bounds exp_bounds(const Rational& x);

/// What a printed decimal may stand for: "5.08" is [5.075, 5.085]. Digits with at most one point;
/// at most 18 of them.
Bounds as_printed(const std::string& decimal);

}  // namespace kappascope::theory
