// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/matrix.h"

#include <algorithm>
#include <utility>

#include "theory/exact/rational.h"

namespace kappascope::theory {

template <typename Scalar>
Matrix<Scalar>::Matrix(std::initializer_list<std::initializer_list<Scalar>> entries)
    : Matrix(static_cast<Index>(entries.size()),
             entries.size() == 0 ? 0 : static_cast<Index>(entries.begin()->size())) {
  Index i = 0;
  for (const auto& row : entries) {
    assert(static_cast<Index>(row.size()) == cols_);
    Index j = 0;
    for (const auto& entry : row) (*this)(i, j++) = entry;
    ++i;
  }
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::constant(Index rows, Index cols, const Scalar& value) {
  Matrix out(rows, cols);
  out.set_constant(value);
  return out;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::identity(Index rows, Index cols) {
  Matrix out(rows, cols);
  for (Index i = 0; i < std::min(rows, cols); ++i) out(i, i) = Scalar(1);
  return out;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::drawn(Index rows, Index cols, const std::function<Scalar()>& draw) {
  Matrix out(rows, cols);
  for (auto& entry : out) entry = draw();
  return out;
}

template <typename Scalar>
Block<Scalar> Matrix<Scalar>::block(Index i, Index j, Index rows, Index cols) {
  return Block<Scalar>(*this, i, j, std::as_const(*this).block(i, j, rows, cols));
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::block(Index i, Index j, Index rows, Index cols) const {
  assert(i >= 0 && j >= 0 && rows >= 0 && cols >= 0 && i + rows <= rows_ && j + cols <= cols_);
  Matrix out(rows, cols);
  for (Index c = 0; c < cols; ++c) {
    for (Index r = 0; r < rows; ++r) out(r, c) = (*this)(i + r, j + c);
  }
  return out;
}

template <typename Scalar>
EntryList<Scalar> Matrix<Scalar>::operator<<(const Scalar& first) {
  EntryList<Scalar> list(*this);
  return list, first;
}

template <typename Scalar>
EntryList<Scalar> Matrix<Scalar>::operator<<(const Matrix& first) {
  EntryList<Scalar> list(*this);
  return list, first;
}

template <typename Scalar>
void Matrix<Scalar>::set_constant(const Scalar& value) {
  std::fill(begin(), end(), value);
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::transpose() const {
  Matrix out(cols_, rows_);
  for (Index j = 0; j < cols_; ++j) {
    for (Index i = 0; i < rows_; ++i) out(j, i) = (*this)(i, j);
  }
  return out;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::reshaped(Index rows, Index cols) const {
  assert(rows * cols == size());
  Matrix out(rows, cols);
  out.entries_ = entries_;
  return out;
}

template <typename Scalar>
Vector<Scalar> Matrix<Scalar>::reshaped() const {
  return reshaped(size(), 1);
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::cwise_product(const Matrix& other) const {
  assert(rows_ == other.rows_ && cols_ == other.cols_);
  Matrix out = *this;
  for (Index i = 0; i < size(); ++i) out(i) *= other(i);
  return out;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::cwise_quotient(const Matrix& other) const {
  assert(rows_ == other.rows_ && cols_ == other.cols_);
  Matrix out = *this;
  for (Index i = 0; i < size(); ++i) out(i) /= other(i);
  return out;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::map(const std::function<Scalar(const Scalar&)>& f) const {
  Matrix out = *this;
  for (auto& entry : out) entry = f(entry);
  return out;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::as_diagonal() const {
  Matrix out(size(), size());
  for (Index i = 0; i < size(); ++i) out(i, i) = (*this)(i);
  return out;
}

template <typename Scalar>
Scalar Matrix<Scalar>::sum() const {
  Scalar total(0);
  for (const auto& entry : entries_) total += entry;
  return total;
}

template <typename Scalar>
Scalar Matrix<Scalar>::trace() const {
  Scalar total(0);
  for (Index i = 0; i < std::min(rows_, cols_); ++i) total += (*this)(i, i);
  return total;
}

template <typename Scalar>
Scalar Matrix<Scalar>::dot(const Matrix& other) const {
  assert(size() == other.size());
  Scalar total(0);
  for (Index i = 0; i < size(); ++i) total += (*this)(i)*other(i);
  return total;
}

template <typename Scalar>
Scalar Matrix<Scalar>::largest_magnitude() const {
  Scalar largest(0);
  for (const auto& entry : entries_) {
    largest = std::max(largest, entry < Scalar(0) ? Scalar(Scalar(0) - entry) : entry);
  }
  return largest;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::sum_of_rows() const {
  Matrix out(1, cols_);
  for (Index j = 0; j < cols_; ++j) {
    for (Index i = 0; i < rows_; ++i) out(0, j) += (*this)(i, j);
  }
  return out;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::mean_of_rows() const {
  return sum_of_rows() / Scalar(rows_);
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::sum_of_cols() const {
  Matrix out(rows_, 1);
  for (Index j = 0; j < cols_; ++j) {
    for (Index i = 0; i < rows_; ++i) out(i, 0) += (*this)(i, j);
  }
  return out;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::plus_row(const Matrix& row) const {
  assert(row.rows() == 1 && row.cols() == cols_);
  Matrix out = *this;
  for (Index j = 0; j < cols_; ++j) {
    for (Index i = 0; i < rows_; ++i) out(i, j) += row(0, j);
  }
  return out;
}

template <typename Scalar>
Matrix<Scalar>& Matrix<Scalar>::operator+=(const Matrix& other) {
  assert(rows_ == other.rows_ && cols_ == other.cols_);
  for (Index i = 0; i < size(); ++i) (*this)(i) += other(i);
  return *this;
}

template <typename Scalar>
Matrix<Scalar>& Matrix<Scalar>::operator-=(const Matrix& other) {
  assert(rows_ == other.rows_ && cols_ == other.cols_);
  for (Index i = 0; i < size(); ++i) (*this)(i) -= other(i);
  return *this;
}

template <typename Scalar>
Matrix<Scalar>& Matrix<Scalar>::operator*=(const Scalar& factor) {
  // The factor may be an entry of this matrix.
  const Scalar copy = factor;  // NOLINT(performance-unnecessary-copy-initialization)
  for (auto& entry : entries_) entry *= copy;
  return *this;
}

template <typename Scalar>
Matrix<Scalar>& Matrix<Scalar>::operator/=(const Scalar& divisor) {
  const Scalar copy = divisor;  // NOLINT(performance-unnecessary-copy-initialization)
  for (auto& entry : entries_) entry /= copy;
  return *this;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::negated() const {
  Matrix out = *this;
  for (auto& entry : out) entry = -entry;
  return out;
}

template <typename Scalar>
Matrix<Scalar> Matrix<Scalar>::times(const Matrix& other) const {
  assert(cols_ == other.rows_);
  Matrix out(rows_, other.cols_);
  for (Index j = 0; j < other.cols_; ++j) {
    for (Index k = 0; k < cols_; ++k) {
      const Scalar& factor = other(k, j);
      for (Index i = 0; i < rows_; ++i) out(i, j) += (*this)(i, k) * factor;
    }
  }
  return out;
}

template <typename Scalar>
bool Matrix<Scalar>::equals(const Matrix& other) const {
  return rows_ == other.rows_ && cols_ == other.cols_ && entries_ == other.entries_;
}

template <typename Scalar>
Block<Scalar>& Block<Scalar>::operator=(const Matrix<Scalar>& entries) {
  assert(entries.rows() == this->rows() && entries.cols() == this->cols());
  if (&entries != this) this->entries_ = entries.entries_;
  for (Index c = 0; c < this->cols(); ++c) {
    for (Index r = 0; r < this->rows(); ++r) {
      whole_(i_ + r, j_ + c) = static_cast<const Matrix<Scalar>&>(*this)(r, c);
    }
  }
  return *this;
}

template <typename Scalar>
EntryList<Scalar>&EntryList<Scalar>::operator,(const Matrix<Scalar>&part) {
  if (part.size() == 0) return *this;
  if (j_ == matrix_.cols()) {
    i_ += height_;
    j_ = 0;
  }
  height_ = part.rows();
  matrix_.block(i_, j_, part.rows(), part.cols()) = part;
  j_ += part.cols();
  return *this;
}

template class Matrix<Rational>;
template class Matrix<double>;
template class Matrix<std::int64_t>;
template class Block<Rational>;
template class Block<double>;
template class Block<std::int64_t>;
template class EntryList<Rational>;
template class EntryList<double>;
template class EntryList<std::int64_t>;

}  // namespace kappascope::theory
