// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/linalg.h"

#include <flint/fmpq_mat.h>
#include <flint/fmpq_poly.h>

#include <cmath>

#include "theory/tools/eigen.h"

namespace kappascope::theory {
namespace {

/// A matrix as FLINT holds it.
class Held {
 public:
  explicit Held(const Matrix<Rational>& a) {
    fmpq_mat_init(held_, a.rows(), a.cols());
    for (Index i = 0; i < a.rows(); ++i) {
      for (Index j = 0; j < a.cols(); ++j) fmpq_set(fmpq_mat_entry(held_, i, j), a(i, j).flint());
    }
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { fmpq_mat_clear(held_); }
  [[nodiscard]] fmpq_mat_struct* get() { return held_; }
  [[nodiscard]] Rational at(Index i, Index j) const {
    return Rational(fmpq_mat_entry(held_, i, j));
  }

 private:
  fmpq_mat_t held_ = {};
};

/// The reduced row echelon form, and the column of the pivot of each row that is not zero.
struct Echelon {
  Held form;
  std::vector<Index> pivots;

  explicit Echelon(const Matrix<Rational>& a) : form(a) {
    const Index rank = fmpq_mat_rref(form.get(), form.get());
    for (Index i = 0, j = 0; i < rank; ++i) {
      while (form.at(i, j) == 0) ++j;
      pivots.push_back(j);
    }
  }
};

/// det(xI - A), from the coefficient of 1 to that of xⁿ.
std::vector<Rational> characteristic(const Matrix<Rational>& a) {
  Held held(a);
  fmpq_poly_t polynomial;
  fmpq_poly_init(polynomial);
  fmpq_mat_charpoly(polynomial, held.get());
  std::vector<Rational> coefficients;
  for (Index k = 0; k <= a.rows(); ++k) {
    fmpq_poly_get_coeff_fmpq(coefficients.emplace_back().flint(), polynomial, k);
  }
  fmpq_poly_clear(polynomial);
  return coefficients;
}

}  // namespace

std::optional<Matrix<Rational>> solve(const Matrix<Rational>& a, const Matrix<Rational>& b) {
  const Echelon reduced(beside(a, b));
  Matrix<Rational> x(a.cols(), b.cols());
  for (Index i = 0; i < std::ssize(reduced.pivots); ++i) {
    const Index pivot = reduced.pivots[static_cast<std::size_t>(i)];
    if (pivot >= a.cols()) return std::nullopt;
    for (Index j = 0; j < b.cols(); ++j) x(pivot, j) = reduced.form.at(i, a.cols() + j);
  }
  return x;
}

Index rank(const Matrix<Rational>& a) {
  return std::ssize(Echelon(a).pivots);
}

Matrix<Rational> null_basis(const Matrix<Rational>& a) {
  const Echelon reduced(a);
  const Index rank = std::ssize(reduced.pivots);
  Matrix<Rational> basis(a.cols(), a.cols() - rank);
  for (Index free = 0, before = 0; free < a.cols(); ++free) {
    // `before` pivots stand before this column.
    if (before < rank && reduced.pivots[static_cast<std::size_t>(before)] == free) {
      ++before;
      continue;
    }
    basis(free, free - before) = 1;
    for (Index i = 0; i < before; ++i) {
      basis(reduced.pivots[static_cast<std::size_t>(i)], free - before) = -reduced.form.at(i, free);
    }
  }
  return basis;
}

Definiteness definiteness(const Matrix<Rational>& a) {
  // det(xI + A) = Π(x + λ): no coefficient is below zero when no λ is, and then no root is above
  // it.
  const auto coefficients = characteristic(-a);
  if (std::ranges::any_of(coefficients, [](const auto& c) { return c < 0; })) {
    return Definiteness::kNeither;
  }
  return coefficients[0] == 0 ? Definiteness::kPositiveSemidefinite
                              : Definiteness::kPositiveDefinite;
}

std::optional<std::vector<Rational>> integer_spectrum(const Matrix<Rational>& a) {
  Vector<Rational> values(a.rows());
  std::ranges::transform(eigenvalues(to_double(a)), values.begin(), [](double value) {
    return Rational(std::llround(value));
  });
  if (characteristic(a) != characteristic(values.as_diagonal())) return std::nullopt;
  return std::vector(values.begin(), values.end());
}

Matrix<double> to_double(const Matrix<Rational>& a) {
  Matrix<double> out(a.rows(), a.cols());
  for (Index i = 0; i < a.size(); ++i) out(i) = a(i).to_double();
  return out;
}

Matrix<Rational> kron_identity(const Matrix<Rational>& a, Index m) {
  Matrix<Rational> product(a.rows() * m, a.cols() * m);
  for (Index i = 0; i < product.rows(); ++i) {
    for (Index j = i % m; j < product.cols(); j += m) product(i, j) = a(i / m, j / m);
  }
  return product;
}

std::string text(const Matrix<Rational>& a) {
  if (a.size() == 1) return a.value().text();
  const bool column = a.cols() == 1;
  std::string out = column ? "(" : "[";
  for (Index i = 0; i < a.rows(); ++i) {
    if (i > 0) out += column ? ", " : "; ";
    for (Index j = 0; j < a.cols(); ++j) out += (j > 0 ? " " : "") + a(i, j).text();
  }
  return out + (column ? ")" : "]");
}

}  // namespace kappascope::theory
