// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/linalg.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "theory/tools/eigen.h"

namespace kappascope::theory {
namespace {

void swap_rows(Matrix<Rational>& a, Index i, Index k) {
  for (Index j = 0; j < a.cols(); ++j) std::swap(a(i, j), a(k, j));
}

/// Reduced row echelon form in place; returns the pivot columns among the first `columns`.
std::vector<Index> reduce(Matrix<Rational>& a, Index columns) {
  std::vector<Index> pivots;
  Index row = 0;
  for (Index column = 0; column < columns && row < a.rows(); ++column) {
    Index found = row;
    while (found < a.rows() && a(found, column) == 0) ++found;
    if (found == a.rows()) continue;
    if (found != row) swap_rows(a, row, found);
    const Rational pivot = a(row, column);
    for (Index j = column; j < a.cols(); ++j) a(row, j) /= pivot;
    for (Index i = 0; i < a.rows(); ++i) {
      const Rational factor = a(i, column);
      if (i == row || factor == 0) continue;
      for (Index j = column; j < a.cols(); ++j) a(i, j) -= factor * a(row, j);
    }
    pivots.push_back(column);
    ++row;
  }
  return pivots;
}

Rational determinant(Matrix<Rational> a) {
  Rational product = 1;
  for (Index k = 0; k < a.rows(); ++k) {
    Index found = k;
    while (found < a.rows() && a(found, k) == 0) ++found;
    if (found == a.rows()) return 0;
    if (found != k) {
      swap_rows(a, k, found);
      product = -product;
    }
    product *= a(k, k);
    for (Index i = k + 1; i < a.rows(); ++i) {
      const Rational factor = a(i, k) / a(k, k);
      if (factor == 0) continue;
      for (Index j = k; j < a.cols(); ++j) a(i, j) -= factor * a(k, j);
    }
  }
  return product;
}

}  // namespace

Matrix<Rational> rows(std::initializer_list<std::initializer_list<Rational>> entries) {
  return Matrix<Rational>(entries);
}

Vector<Rational> column(std::initializer_list<Rational> entries) {
  Vector<Rational> made(static_cast<Index>(entries.size()));
  std::copy(entries.begin(), entries.end(), made.begin());
  return made;
}

std::optional<Matrix<Rational>> solve(const Matrix<Rational>& a, const Matrix<Rational>& b) {
  assert(a.rows() == b.rows());
  Matrix<Rational> joined(a.rows(), a.cols() + b.cols());
  joined << a, b;
  const auto pivots = reduce(joined, a.cols());
  Matrix<Rational> x = Matrix<Rational>::zero(a.cols(), b.cols());
  const auto found = static_cast<Index>(pivots.size());
  for (Index i = found; i < a.rows(); ++i) {
    for (Index j = 0; j < b.cols(); ++j) {
      if (joined(i, a.cols() + j) != 0) return std::nullopt;
    }
  }
  for (Index i = 0; i < found; ++i) {
    x.row(pivots[static_cast<std::size_t>(i)]) = joined.block(i, a.cols(), 1, b.cols());
  }
  return x;
}

Index rank(const Matrix<Rational>& a) {
  Matrix<Rational> copy = a;
  return static_cast<Index>(reduce(copy, a.cols()).size());
}

Matrix<Rational> null_basis(const Matrix<Rational>& a) {
  Matrix<Rational> reduced = a;
  const auto pivots = reduce(reduced, a.cols());
  Matrix<Rational> basis =
      Matrix<Rational>::zero(a.cols(), a.cols() - static_cast<Index>(pivots.size()));
  Index column = 0;
  std::size_t next = 0;
  for (Index free = 0; free < a.cols(); ++free) {
    if (next < pivots.size() && pivots[next] == free) {
      ++next;
      continue;
    }
    basis(free, column) = 1;
    for (std::size_t i = 0; i < pivots.size(); ++i) {
      basis(pivots[i], column) = -reduced(static_cast<Index>(i), free);
    }
    ++column;
  }
  return basis;
}

Definiteness definiteness(const Matrix<Rational>& a) {
  Matrix<Rational> rest = a;
  bool definite = true;
  for (Index k = 0; k < rest.rows(); ++k) {
    if (rest(k, k) < 0) return Definiteness::kNeither;
    if (rest(k, k) == 0) {
      // A semidefinite matrix with a zero on its diagonal is zero along that row.
      for (Index j = k; j < rest.cols(); ++j) {
        if (rest(k, j) != 0) return Definiteness::kNeither;
      }
      definite = false;
      continue;
    }
    for (Index i = k + 1; i < rest.rows(); ++i) {
      const Rational factor = rest(i, k) / rest(k, k);
      if (factor == 0) continue;
      for (Index j = k; j < rest.cols(); ++j) rest(i, j) -= factor * rest(k, j);
    }
  }
  return definite ? Definiteness::kPositiveDefinite : Definiteness::kPositiveSemidefinite;
}

std::optional<std::vector<Rational>> integer_spectrum(const Matrix<Rational>& a) {
  std::vector<Rational> values;
  for (const double value : eigenvalues(to_double(a))) values.emplace_back(std::llround(value));
  for (Index point = 0; point <= a.rows(); ++point) {
    Matrix<Rational> shifted = -a;
    Rational product = 1;
    for (Index i = 0; i < a.rows(); ++i) {
      shifted(i, i) += point;
      product *= Rational(point) - values[static_cast<std::size_t>(i)];
    }
    if (determinant(std::move(shifted)) != product) return std::nullopt;
  }
  return values;
}

Matrix<double> to_double(const Matrix<Rational>& a) {
  Matrix<double> out(a.rows(), a.cols());
  for (Index i = 0; i < a.size(); ++i) out(i) = a(i).to_double();
  return out;
}

Matrix<Rational> kron_identity(const Matrix<Rational>& a, Index m) {
  Matrix<Rational> product = Matrix<Rational>::zero(a.rows() * m, a.cols() * m);
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.cols(); ++j) {
      for (Index k = 0; k < m; ++k) product(i * m + k, j * m + k) = a(i, j);
    }
  }
  return product;
}

Vector<Rational> column_mean(const Matrix<Rational>& rows) {
  return rows.mean_of_rows().transpose();
}

Matrix<Rational> centred_rows(const Matrix<Rational>& rows) {
  return rows.plus_row(-column_mean(rows).transpose());
}

Matrix<Rational> covariance(const Matrix<Rational>& rows) {
  const Matrix<Rational> centred = centred_rows(rows);
  return centred.transpose() * centred / Rational(rows.rows());
}

bool is_zero(const Matrix<Rational>& a) {
  return a == Matrix<Rational>::zero(a.rows(), a.cols());
}

Rational squared_norm(const Matrix<Rational>& a) {
  return a.squared_norm();
}

std::string text(const Matrix<Rational>& a) {
  if (a.size() == 1) return a(0, 0).text();
  const bool column = a.cols() == 1;
  std::string out = column ? "(" : "[";
  for (Index i = 0; i < a.rows(); ++i) {
    if (i > 0) out += column ? ", " : "; ";
    for (Index j = 0; j < a.cols(); ++j) out += (j > 0 ? " " : "") + a(i, j).text();
  }
  return out + (column ? ")" : "]");
}

}  // namespace kappascope::theory
