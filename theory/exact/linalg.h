// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "theory/exact/rational.h"

namespace kappascope::theory {

/// Linear algebra without rounding, for the small matrices of witnesses, by FLINT: every answer is
/// a fact.

/// A matrix row by row, or a column, as one writes it down by hand.
inline Matrix<Rational> rows(std::initializer_list<std::initializer_list<Rational>> entries) {
  return entries;
}
inline Vector<Rational> column(std::initializer_list<Rational> entries) {
  return Matrix<Rational>{entries}.transpose();
}

/// Any X with A X = B, or nothing when there is none. A may be of any shape and rank.
std::optional<Matrix<Rational>> solve(const Matrix<Rational>& a, const Matrix<Rational>& b);

Index rank(const Matrix<Rational>& a);

/// A basis of {x : A x = 0} in the columns; no columns when A has full column rank.
Matrix<Rational> null_basis(const Matrix<Rational>& a);

/// Of a symmetric matrix, by the signs of its characteristic polynomial.
enum class Definiteness { kPositiveDefinite, kPositiveSemidefinite, kNeither };
Definiteness definiteness(const Matrix<Rational>& a);

/// The eigenvalues of a symmetric matrix, ascending, where all of them are integers: a rounded
/// guess from floating point, confirmed by the characteristic polynomial. Nothing when an
/// eigenvalue is not an integer.
std::optional<std::vector<Rational>> integer_spectrum(const Matrix<Rational>& a);

Matrix<double> to_double(const Matrix<Rational>& a);

/// A ⊗ I_m: the Hessian of m outputs that share one regressor, parameters [d, m] row-major.
Matrix<Rational> kron_identity(const Matrix<Rational>& a, Index m);

/// Moments of n equally probable samples, the rows of [n, d]: their mean, the rows less their mean,
/// and their covariance with divisor n.
inline Vector<Rational> column_mean(const Matrix<Rational>& rows) {
  return rows.mean_of_rows().transpose();
}
inline Matrix<Rational> centred_rows(const Matrix<Rational>& rows) {
  return rows.plus_row(-rows.mean_of_rows());
}
inline Matrix<Rational> covariance(const Matrix<Rational>& rows) {
  return centred_rows(rows).transpose() * centred_rows(rows) / rows.rows();
}

inline bool is_zero(const Matrix<Rational>& a) {
  return a == Matrix<Rational>(a.rows(), a.cols());
}

/// "[2 0; 0 1]", and for a single column or a single number "(0, 1)" and "3".
std::string text(const Matrix<Rational>& a);

}  // namespace kappascope::theory

template <std::derived_from<kappascope::theory::Matrix<kappascope::theory::Rational>> T>
struct fmt::formatter<T> : fmt::formatter<std::string> {
  auto format(const T& value, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(kappascope::theory::text(value), context);
  }
};
