// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "theory/exact/rational.h"

namespace kappascope::theory {

/// A function of n parameters, exact.
using ExactFunction = std::function<Rational(const Vector<Rational>&)>;

/// c + gᵀx + ½ xᵀHx. Squared losses are of this form in each block of their parameters, and so is
/// the variance of a gradient in a bias: gradient, curvature and minimum then follow from values of
/// the function alone, never from the formula under test.
struct Quadratic {
  Rational constant;
  Vector<Rational> gradient;  ///< [n] at zero
  Matrix<Rational> hessian;   ///< [n, n]

  [[nodiscard]] Rational at(const Vector<Rational>& x) const;
  /// Any x at which the gradient vanishes; nothing when there is none. O(n³).
  [[nodiscard]] std::optional<Vector<Rational>> stationary_point() const;
};

/// Exact for a polynomial of degree two or less. 1 + 2n + n(n-1)/2 evaluations.
Quadratic quadratic_of(const ExactFunction& f, Index n);

/// The gradient at zero alone, by central differences, which are exact there. 2n evaluations.
Vector<Rational> gradient_of(const ExactFunction& f, Index n);

}  // namespace kappascope::theory
