// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

/// Small dense matrices of exact or floating scalars, in the vocabulary of Eigen. Every operation
/// gives a matrix, at once: Eigen's expression templates, instantiated for fractions in every
/// check, take three times as long to compile.
namespace kappascope::theory {

using Index = std::ptrdiff_t;

template <typename Scalar>
class Block;

/// [rows, cols], stored by columns. Sizes that do not fit are our own bug: an assertion.
template <typename Scalar>
class Matrix {
 public:
  Matrix() = default;
  /// All entries zero.
  explicit Matrix(Index rows, Index cols = 1)
      : rows_(rows), cols_(cols), entries_(static_cast<std::size_t>(rows * cols)) {}
  /// One list a row.
  Matrix(std::initializer_list<std::initializer_list<Scalar>> entries)
      : Matrix(std::ssize(entries), entries.size() == 0 ? 0 : std::ssize(*entries.begin())) {
    Index i = 0;
    for (const auto& row : entries) {
      assert(std::ssize(row) == cols_);
      for (Index j = 0; const auto& entry : row) (*this)(i, j++) = entry;
      ++i;
    }
  }

  Matrix(const Matrix&) = default;
  Matrix(Matrix&&) noexcept = default;
  ~Matrix() = default;
  // Not to a part that is a copy: nobody would see it.
  Matrix& operator=(const Matrix&) & = default;
  Matrix& operator=(Matrix&&) & noexcept = default;

  static Matrix zero(Index rows, Index cols = 1) { return Matrix(rows, cols); }
  static Matrix ones(Index rows, Index cols = 1) {
    return Matrix(rows, cols).map([](const Scalar&) { return Scalar(1); });
  }
  static Matrix identity(Index size) { return ones(size).as_diagonal(); }
  /// The i-th column of the identity.
  static Matrix unit(Index size, Index i) { return identity(size).col(i); }
  /// Entries from calls of `draw`, down the columns.
  template <typename Draw>
  static Matrix drawn(Index rows, Index cols, Draw draw) {
    return Matrix(rows, cols).map([&](const Scalar&) { return Scalar(draw()); });
  }

  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index cols() const { return cols_; }
  [[nodiscard]] Index size() const { return rows_ * cols_; }
  Scalar& operator()(Index i, Index j) { return entries_[place(i, j)]; }
  const Scalar& operator()(Index i, Index j) const { return entries_[place(i, j)]; }
  /// Down the columns: the entries of a vector, or of a row.
  Scalar& operator()(Index i) { return entries_[place(i)]; }
  const Scalar& operator()(Index i) const { return entries_[place(i)]; }
  [[nodiscard]] const Scalar& value() const { return (*this)(0, 0); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  // Of a matrix that may be written, a part writes through (Block); otherwise it is a copy.
  Block<Scalar> block(Index i, Index j, Index rows, Index cols) {
    return Block<Scalar>(*this, i, j, std::as_const(*this).block(i, j, rows, cols));
  }
  Block<Scalar> row(Index i) { return block(i, 0, 1, cols_); }
  Block<Scalar> col(Index j) { return block(0, j, rows_, 1); }
  Block<Scalar> middle_rows(Index i, Index count) { return block(i, 0, count, cols_); }
  Block<Scalar> segment(Index i, Index count) { return block(i, 0, count, 1); }
  [[nodiscard]] Matrix block(Index i, Index j, Index rows, Index cols) const {
    assert(i >= 0 && j >= 0 && i + rows <= rows_ && j + cols <= cols_);
    Matrix out(rows, cols);
    for (Index c = 0; c < cols; ++c) {
      for (Index r = 0; r < rows; ++r) out(r, c) = (*this)(i + r, j + c);
    }
    return out;
  }
  [[nodiscard]] Matrix row(Index i) const { return block(i, 0, 1, cols_); }
  [[nodiscard]] Matrix col(Index j) const { return block(0, j, rows_, 1); }
  [[nodiscard]] Matrix middle_rows(Index i, Index count) const { return block(i, 0, count, cols_); }
  [[nodiscard]] Matrix middle_cols(Index j, Index count) const { return block(0, j, rows_, count); }
  /// Of a vector: `count` entries from the i-th on.
  [[nodiscard]] Matrix segment(Index i, Index count) const { return block(i, 0, count, 1); }

  void set_zero() { *this = Matrix(rows_, cols_); }

  [[nodiscard]] Matrix transpose() const {
    Matrix out(cols_, rows_);
    for (Index j = 0; j < cols_; ++j) {
      for (Index i = 0; i < rows_; ++i) out(j, i) = (*this)(i, j);
    }
    return out;
  }
  /// The same entries down the columns of another shape; without one, as one column.
  [[nodiscard]] Matrix reshaped(Index rows, Index cols) const {
    assert(rows * cols == size());
    Matrix out(rows, cols);
    out.entries_ = entries_;
    return out;
  }
  [[nodiscard]] Matrix reshaped() const { return reshaped(size(), 1); }
  /// f of each entry.
  template <typename F>
  [[nodiscard]] Matrix map(const F& f) const {
    Matrix out = *this;
    for (auto& entry : out) entry = f(entry);
    return out;
  }
  [[nodiscard]] Matrix cwise_product(Matrix other) const {
    return other.each(*this, [](Scalar& a, const Scalar& b) { a *= b; });
  }
  /// A vector's entries on the diagonal of a square matrix.
  [[nodiscard]] Matrix as_diagonal() const {
    Matrix out(size(), size());
    for (Index i = 0; i < size(); ++i) out(i, i) = (*this)(i);
    return out;
  }

  [[nodiscard]] Scalar sum() const { return std::accumulate(begin(), end(), Scalar(0)); }
  [[nodiscard]] Scalar trace() const {
    Scalar total(0);
    for (Index i = 0; i < std::min(rows_, cols_); ++i) total += (*this)(i, i);
    return total;
  }
  [[nodiscard]] Scalar dot(const Matrix& other) const {
    assert(size() == other.size());
    return std::inner_product(begin(), end(), other.begin(), Scalar(0));
  }
  [[nodiscard]] Scalar squared_norm() const { return dot(*this); }
  [[nodiscard]] Scalar norm() const { return std::sqrt(squared_norm()); }
  [[nodiscard]] Scalar largest_magnitude() const {
    Scalar largest(0);
    for (const auto& entry : entries_) largest = std::max({largest, entry, Scalar(-entry)});
    return largest;
  }
  [[nodiscard]] Matrix sum_of_rows() const { return ones(1, rows_) * *this; }  ///< [1, cols]
  [[nodiscard]] Matrix mean_of_rows() const {
    return sum_of_rows() / Scalar(rows_);
  }  ///< [1, cols]
  /// A row added to each row.
  [[nodiscard]] Matrix plus_row(const Matrix& row) const { return *this + ones(rows_) * row; }

  Matrix& operator+=(const Matrix& other) & {
    return each(other, [](Scalar& a, const Scalar& b) { a += b; });
  }
  Matrix& operator-=(const Matrix& other) & {
    return each(other, [](Scalar& a, const Scalar& b) { a -= b; });
  }
  Matrix& operator*=(Scalar factor) {  // by value: it may be an entry of this matrix
    for (auto& entry : entries_) entry *= factor;
    return *this;
  }
  Matrix& operator/=(Scalar divisor) {
    for (auto& entry : entries_) entry /= divisor;
    return *this;
  }
  friend Matrix operator+(Matrix a, const Matrix& b) { return std::move(a += b); }
  friend Matrix operator-(Matrix a, const Matrix& b) { return std::move(a -= b); }
  friend Matrix operator*(Matrix a, const Scalar& factor) { return std::move(a *= factor); }
  friend Matrix operator*(const Scalar& factor, Matrix a) { return std::move(a *= factor); }
  friend Matrix operator/(Matrix a, const Scalar& divisor) { return std::move(a /= divisor); }
  friend Matrix operator-(const Matrix& a) {
    return a.map([](const Scalar& entry) { return Scalar(-entry); });
  }
  friend Matrix operator*(const Matrix& a, const Matrix& b) {
    assert(a.cols_ == b.rows_);
    Matrix out(a.rows_, b.cols_);
    for (Index j = 0; j < b.cols_; ++j) {
      for (Index k = 0; k < a.cols_; ++k) {
        const Scalar& factor = b(k, j);
        for (Index i = 0; i < a.rows_; ++i) out(i, j) += a(i, k) * factor;
      }
    }
    return out;
  }
  friend bool operator==(const Matrix& a, const Matrix& b) = default;

 private:
  [[nodiscard]] std::size_t place(Index i, Index j) const {
    assert(i >= 0 && i < rows_ && j >= 0 && j < cols_);
    return static_cast<std::size_t>(j * rows_ + i);
  }
  [[nodiscard]] std::size_t place(Index i) const {
    assert(i >= 0 && i < size());
    return static_cast<std::size_t>(i);
  }
  template <typename F>
  Matrix& each(const Matrix& other, F f) {
    assert(rows_ == other.rows_ && cols_ == other.cols_);
    for (Index i = 0; i < size(); ++i) f((*this)(i), other(i));
    return *this;
  }

  Index rows_ = 0, cols_ = 0;
  std::vector<Scalar> entries_;
};

/// A matrix of one column.
template <typename Scalar>
using Vector = Matrix<Scalar>;

/// A part of a matrix: the entries it had when it was taken; what is assigned to it is written to
/// the matrix.
template <typename Scalar>
class Block : public Matrix<Scalar> {
 public:
  Block(Matrix<Scalar>& whole, Index i, Index j, Matrix<Scalar> entries)
      : Matrix<Scalar>(std::move(entries)), whole_(whole), i_(i), j_(j) {}
  Block(const Block&) = default;
  Block& operator=(const Matrix<Scalar>& entries) {
    assert(entries.rows() == this->rows() && entries.cols() == this->cols());
    Matrix<Scalar>::operator=(entries);
    for (Index c = 0; c < this->cols(); ++c) {
      for (Index r = 0; r < this->rows(); ++r) whole_(i_ + r, j_ + c) = entries(r, c);
    }
    return *this;
  }
  Block& operator=(const Block& other) { return *this = static_cast<const Matrix<Scalar>&>(other); }
  Block& operator+=(const Matrix<Scalar>& other) { return *this = *this + other; }
  Block& operator-=(const Matrix<Scalar>& other) { return *this = *this - other; }
  Block& operator*=(const Scalar& factor) { return *this = *this * factor; }
  Block& operator/=(const Scalar& divisor) { return *this = *this / divisor; }
  void set_zero() { *this = Matrix<Scalar>(this->rows(), this->cols()); }
  const Scalar& operator()(Index i) const { return Matrix<Scalar>::operator()(i); }
  auto begin() const { return Matrix<Scalar>::begin(); }
  auto end() const { return Matrix<Scalar>::end(); }

 private:
  Matrix<Scalar>& whole_;
  Index i_, j_;
};

template <typename Scalar>
Matrix<Scalar> beside(const Matrix<Scalar>& left, const Matrix<Scalar>& right) {
  Matrix<Scalar> out(left.rows(), left.cols() + right.cols());
  out.block(0, 0, left.rows(), left.cols()) = left;
  out.block(0, left.cols(), right.rows(), right.cols()) = right;
  return out;
}

template <typename Scalar>
Matrix<Scalar> below(const Matrix<Scalar>& upper, const Matrix<Scalar>& lower) {
  return beside(upper.transpose(), lower.transpose()).transpose();
}

}  // namespace kappascope::theory
