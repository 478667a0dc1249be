// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flint/fmpq_mpoly.h>

#include <map>
#include <string>

#include "theory/exact/rational.h"

namespace kappascope::theory {

/// FLINT's polynomial in named variables with rational coefficients. Two are equal exactly when
/// they agree at all values of the variables, so an equation between them is a proof.
class Polynomial {
 public:
  Polynomial(const Rational& value = 0) {  // NOLINT: a constant is one
    fmpq_mpoly_init(held_, ring());
    fmpq_mpoly_set_fmpq(held_, value.flint(), ring());
  }
  Polynomial(const Polynomial& other) : Polynomial() { fmpq_mpoly_set(held_, other.held_, ring()); }
  Polynomial& operator=(Polynomial other) {
    fmpq_mpoly_swap(held_, other.held_, ring());
    return *this;
  }
  ~Polynomial() { fmpq_mpoly_clear(held_, ring()); }
  static Polynomial variable(const std::string& name) {
    Polynomial out;
    fmpq_mpoly_gen(out.held_, place(name), ring());
    return out;
  }

  Polynomial& operator+=(const Polynomial& other) {
    fmpq_mpoly_add(held_, held_, other.held_, ring());
    return *this;
  }
  Polynomial& operator-=(const Polynomial& other) {
    fmpq_mpoly_sub(held_, held_, other.held_, ring());
    return *this;
  }
  Polynomial& operator*=(const Polynomial& other) {
    fmpq_mpoly_mul(held_, held_, other.held_, ring());
    return *this;
  }
  friend Polynomial operator+(Polynomial a, const Polynomial& b) { return a += b; }
  friend Polynomial operator-(Polynomial a, const Polynomial& b) { return a -= b; }
  friend Polynomial operator*(Polynomial a, const Polynomial& b) { return a *= b; }
  Polynomial operator-() const { return Polynomial() - *this; }
  friend bool operator==(const Polynomial& a, const Polynomial& b) {
    return fmpq_mpoly_equal(a.held_, b.held_, ring()) != 0;
  }

  [[nodiscard]] bool depends_on(const std::string& name) const {
    return fmpq_mpoly_degree_si(held_, place(name), ring()) > 0;
  }

 private:
  static constexpr Index kVariables = 100;
  static const fmpq_mpoly_ctx_struct* ring() {
    static fmpq_mpoly_ctx_t made;
    static const bool once = (fmpq_mpoly_ctx_init(made, kVariables, ORD_LEX), true);
    return once ? made : nullptr;
  }
  static Index place(const std::string& name) {
    static std::map<std::string, Index> places;
    const auto found = places.try_emplace(name, std::ssize(places)).first->second;
    assert(found < kVariables);
    return found;
  }

  fmpq_mpoly_t held_;
};

using PolynomialMatrix = Matrix<Polynomial>;

/// [rows, cols] of variables "name11", "name12", ...
inline PolynomialMatrix variables(const std::string& name, Index rows, Index cols) {
  PolynomialMatrix out(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      out(i, j) = Polynomial::variable(name + std::to_string(i + 1) + std::to_string(j + 1));
    }
  }
  return out;
}

inline PolynomialMatrix symmetric_variables(const std::string& name, Index size) {
  auto out = variables(name, size, size);
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j < i; ++j) out(i, j) = out(j, i);
  }
  return out;
}

inline PolynomialMatrix without(const PolynomialMatrix& a, Index row, Index column) {
  const Index rows = a.rows() - 1 - row, cols = a.cols() - 1 - column;
  const auto kept = below(a.middle_rows(0, row), a.middle_rows(row + 1, rows));
  return beside(kept.middle_cols(0, column), kept.middle_cols(column + 1, cols));
}

/// By the first column.
inline Polynomial determinant(const PolynomialMatrix& a) {
  if (a.size() == 0) return Polynomial(1);
  Polynomial sum;
  for (Index i = 0; i < a.rows(); ++i) {
    sum += Rational(i % 2 == 0 ? 1 : -1) * a(i, 0) * determinant(without(a, i, 0));
  }
  return sum;
}

/// A adj A = det A · I.
inline PolynomialMatrix adjugate(const PolynomialMatrix& a) {
  PolynomialMatrix out(a.cols(), a.rows());
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.cols(); ++j) {
      out(j, i) = Rational((i + j) % 2 == 0 ? 1 : -1) * determinant(without(a, i, j));
    }
  }
  return out;
}

}  // namespace kappascope::theory
