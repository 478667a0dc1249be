// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/variance_control/quadratic.h"

#include "theory/exact/linalg.h"

namespace kappascope::theory {

Rational Quadratic::at(const Vector<Rational>& x) const {
  const Vector<Rational> curved = hessian * x;
  return constant + gradient.dot(x) + curved.dot(x) / 2;
}

std::optional<Vector<Rational>> Quadratic::stationary_point() const {
  const Matrix<Rational> downhill = -gradient;
  const auto found = solve(hessian, downhill);
  return found ? std::optional(Vector<Rational>(found->col(0))) : std::nullopt;
}

Vector<Rational> gradient_of(const ExactFunction& f, Index n) {
  Vector<Rational> gradient(n);
  for (Index i = 0; i < n; ++i) {
    const Vector<Rational> step = Vector<Rational>::unit(n, i);
    gradient(i) = (f(step) - f(-step)) / 2;
  }
  return gradient;
}

Quadratic quadratic_of(const ExactFunction& f, Index n) {
  Quadratic out{f(Vector<Rational>::zero(n)), Vector<Rational>(n), Matrix<Rational>(n, n)};
  for (Index i = 0; i < n; ++i) {
    const Vector<Rational> step = Vector<Rational>::unit(n, i);
    const Rational ahead = f(step), behind = f(-step);
    out.gradient(i) = (ahead - behind) / 2;
    out.hessian(i, i) = ahead + behind - 2 * out.constant;
    for (Index j = 0; j < i; ++j) {
      const Vector<Rational> both = step + Vector<Rational>::unit(n, j);
      // f(e_i + e_j) less everything that is already known of it.
      out.hessian(i, j) = f(both) - out.constant - out.gradient(i) - out.gradient(j) -
                          (out.hessian(i, i) + out.hessian(j, j)) / 2;
      out.hessian(j, i) = out.hessian(i, j);
    }
  }
  return out;
}

}  // namespace kappascope::theory
