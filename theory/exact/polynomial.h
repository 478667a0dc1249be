// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "theory/exact/rational.h"

namespace kappascope::theory {

/// A polynomial in named variables with rational coefficients. Two are equal exactly when they
/// agree at all values of the variables, so an equation between them is a proof, not a search.
class Polynomial {
 public:
  Polynomial() = default;
  Polynomial(const Rational& value);                      // NOLINT: a constant is one
  Polynomial(int value) : Polynomial(Rational(value)) {}  // NOLINT
  static Polynomial variable(const std::string& name);

  Polynomial& operator+=(const Polynomial& other);
  Polynomial& operator-=(const Polynomial& other);
  friend Polynomial operator+(Polynomial a, const Polynomial& b) { return a += b; }
  friend Polynomial operator-(Polynomial a, const Polynomial& b) { return a -= b; }
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  Polynomial operator-() const { return Polynomial() - *this; }
  friend bool operator==(const Polynomial& a, const Polynomial& b) { return a.terms_ == b.terms_; }

  /// Whether the variable occurs.
  [[nodiscard]] bool depends_on(const std::string& name) const;

 private:
  using Monomial = std::map<std::string, int>;  // variable -> exponent, none of them zero
  std::map<Monomial, Rational> terms_;          // no coefficient is zero
};

/// Small matrices of polynomials, row by row.
using PolynomialMatrix = std::vector<std::vector<Polynomial>>;
/// [rows, cols] of variables "name11", "name12", ...
PolynomialMatrix variables(const std::string& name, int rows, int cols);
PolynomialMatrix symmetric_variables(const std::string& name, int size);
PolynomialMatrix identity(int size);
PolynomialMatrix operator+(PolynomialMatrix a, const PolynomialMatrix& b);
PolynomialMatrix operator-(PolynomialMatrix a, const PolynomialMatrix& b);
PolynomialMatrix operator*(const PolynomialMatrix& a, const PolynomialMatrix& b);
PolynomialMatrix operator*(const Polynomial& factor, PolynomialMatrix a);
PolynomialMatrix transpose(const PolynomialMatrix& a);
/// Blocks beside and below each other.
PolynomialMatrix blocks(const PolynomialMatrix& a,
                        const PolynomialMatrix& b,
                        const PolynomialMatrix& c,
                        const PolynomialMatrix& d);
Polynomial determinant(const PolynomialMatrix& a);     ///< by the first row
PolynomialMatrix adjugate(const PolynomialMatrix& a);  ///< A adj A = det A · I

}  // namespace kappascope::theory
