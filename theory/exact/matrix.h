// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

/// Small dense matrices of exact or floating scalars, in the vocabulary of Eigen. Every operation
/// gives a matrix, at once: no expression templates, so that the arithmetic is compiled once, for
/// the scalars that matrix.cpp names (Rational, double, std::int64_t), and not in every check.
namespace kappascope::theory {

using Index = std::ptrdiff_t;

template <typename Scalar>
class Block;
template <typename Scalar>
class EntryList;
template <typename Scalar>
class EachRow;
template <typename Scalar>
class Vector;

/// [rows, cols], stored by columns. Sizes that do not fit are our own bug: an assertion.
template <typename Scalar>
class Matrix {
 public:
  Matrix() = default;
  /// All entries zero.
  Matrix(Index rows, Index cols)
      : rows_(rows), cols_(cols), entries_(static_cast<std::size_t>(rows * cols)) {}
  /// One list a row.
  Matrix(std::initializer_list<std::initializer_list<Scalar>> entries);

  static Matrix zero(Index rows, Index cols) { return Matrix(rows, cols); }
  static Matrix constant(Index rows, Index cols, const Scalar& value);
  static Matrix ones(Index rows, Index cols) { return constant(rows, cols, Scalar(1)); }
  static Matrix identity(Index rows, Index cols);
  /// Entries from calls of `draw`, down the columns.
  static Matrix drawn(Index rows, Index cols, const std::function<Scalar()>& draw);

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
  Block<Scalar> block(Index i, Index j, Index rows, Index cols);
  [[nodiscard]] Matrix block(Index i, Index j, Index rows, Index cols) const;
  Block<Scalar> row(Index i) { return block(i, 0, 1, cols_); }
  [[nodiscard]] Matrix row(Index i) const { return block(i, 0, 1, cols_); }
  Block<Scalar> col(Index j) { return block(0, j, rows_, 1); }
  [[nodiscard]] Matrix col(Index j) const { return block(0, j, rows_, 1); }
  Block<Scalar> top_left(Index rows, Index cols) { return block(0, 0, rows, cols); }
  [[nodiscard]] Matrix top_left(Index rows, Index cols) const { return block(0, 0, rows, cols); }
  Block<Scalar> top_right(Index rows, Index cols) { return block(0, cols_ - cols, rows, cols); }
  Block<Scalar> bottom_left(Index rows, Index cols) { return block(rows_ - rows, 0, rows, cols); }
  [[nodiscard]] Matrix bottom_left(Index rows, Index cols) const {
    return block(rows_ - rows, 0, rows, cols);
  }
  Block<Scalar> bottom_right(Index rows, Index cols) {
    return block(rows_ - rows, cols_ - cols, rows, cols);
  }
  [[nodiscard]] Matrix bottom_right(Index rows, Index cols) const {
    return block(rows_ - rows, cols_ - cols, rows, cols);
  }
  Block<Scalar> middle_rows(Index i, Index count) { return block(i, 0, count, cols_); }
  [[nodiscard]] Matrix middle_rows(Index i, Index count) const { return block(i, 0, count, cols_); }
  [[nodiscard]] Matrix middle_cols(Index j, Index count) const { return block(0, j, rows_, count); }
  /// Of a vector: `count` entries from the i-th on.
  Block<Scalar> segment(Index i, Index count) { return block(i, 0, count, 1); }
  [[nodiscard]] Matrix segment(Index i, Index count) const { return block(i, 0, count, 1); }

  /// Lists the entries row by row, or matrices beside and below each other, as in Eigen:
  /// a << 1, 2, 3, 4;
  EntryList<Scalar> operator<<(const Scalar& first);
  EntryList<Scalar> operator<<(const Matrix& first);
  void set_constant(const Scalar& value);
  void set_zero() { set_constant(Scalar(0)); }
  void set_ones() { set_constant(Scalar(1)); }

  [[nodiscard]] Matrix transpose() const;
  /// The same entries down the columns of another shape; without one, as one column.
  [[nodiscard]] Matrix reshaped(Index rows, Index cols) const;
  [[nodiscard]] Vector<Scalar> reshaped() const;
  [[nodiscard]] Matrix cwise_product(const Matrix& other) const;
  [[nodiscard]] Matrix cwise_quotient(const Matrix& other) const;
  [[nodiscard]] Matrix map(const std::function<Scalar(const Scalar&)>& f) const;
  /// A vector's entries on the diagonal of a square matrix.
  [[nodiscard]] Matrix as_diagonal() const;

  [[nodiscard]] Scalar sum() const;
  [[nodiscard]] Scalar mean() const { return sum() / Scalar(size()); }
  [[nodiscard]] Scalar trace() const;
  [[nodiscard]] Scalar dot(const Matrix& other) const;
  [[nodiscard]] Scalar squared_norm() const { return dot(*this); }
  [[nodiscard]] double norm() const requires std::same_as<Scalar, double> {
    // clang 14 instantiates this for every scalar.
    if constexpr (std::same_as<Scalar, double>) return std::sqrt(squared_norm());
    return 0;
  }
  [[nodiscard]] Scalar largest_magnitude() const;
  [[nodiscard]] Matrix sum_of_rows() const;   ///< [1, cols]
  [[nodiscard]] Matrix mean_of_rows() const;  ///< [1, cols]
  [[nodiscard]] Matrix sum_of_cols() const;   ///< [rows, 1]
  EachRow<Scalar> each_row() { return EachRow<Scalar>(*this); }
  /// A row added to each row.
  [[nodiscard]] Matrix plus_row(const Matrix& row) const;

  Matrix& operator+=(const Matrix& other);
  Matrix& operator-=(const Matrix& other);
  Matrix& operator*=(const Scalar& factor);
  Matrix& operator/=(const Scalar& divisor);
  friend Matrix operator+(Matrix a, const Matrix& b) { return std::move(a += b); }
  friend Matrix operator-(Matrix a, const Matrix& b) { return std::move(a -= b); }
  friend Matrix operator*(Matrix a, const Scalar& factor) { return std::move(a *= factor); }
  friend Matrix operator*(const Scalar& factor, Matrix a) { return std::move(a *= factor); }
  friend Matrix operator/(Matrix a, const Scalar& divisor) { return std::move(a /= divisor); }
  friend Matrix operator-(const Matrix& a) { return a.negated(); }
  friend Matrix operator*(const Matrix& a, const Matrix& b) { return a.times(b); }
  friend bool operator==(const Matrix& a, const Matrix& b) { return a.equals(b); }

 private:
  friend class Block<Scalar>;

  [[nodiscard]] std::size_t place(Index i, Index j) const {
    assert(i >= 0 && i < rows_ && j >= 0 && j < cols_);
    return static_cast<std::size_t>(j * rows_ + i);
  }
  [[nodiscard]] std::size_t place(Index i) const {
    assert(i >= 0 && i < size());
    return static_cast<std::size_t>(i);
  }
  [[nodiscard]] Matrix negated() const;
  [[nodiscard]] Matrix times(const Matrix& other) const;
  [[nodiscard]] bool equals(const Matrix& other) const;

  Index rows_ = 0, cols_ = 0;
  std::vector<Scalar> entries_;
};

/// A matrix of one column.
template <typename Scalar>
class Vector : public Matrix<Scalar> {
 public:
  Vector() : Matrix<Scalar>(0, 1) {}
  explicit Vector(Index size) : Matrix<Scalar>(size, 1) {}
  Vector(const Matrix<Scalar>& column) : Matrix<Scalar>(column) {  // NOLINT: one column is a vector
    assert(column.cols() == 1);
  }

  static Vector zero(Index size) { return Vector(size); }
  static Vector constant(Index size, const Scalar& value) {
    return Matrix<Scalar>::constant(size, 1, value);
  }
  static Vector ones(Index size) { return constant(size, Scalar(1)); }
  static Vector unit(Index size, Index i) {
    Vector out(size);
    out(i) = Scalar(1);
    return out;
  }
  Block<Scalar> head(Index count) { return this->segment(0, count); }
  [[nodiscard]] Vector head(Index count) const { return this->segment(0, count); }
  Block<Scalar> tail(Index count) { return this->segment(this->size() - count, count); }
  [[nodiscard]] Vector tail(Index count) const {
    return this->segment(this->size() - count, count);
  }
};

/// A part of a matrix: the entries it had when it was taken; what is assigned to it is written to
/// the matrix.
template <typename Scalar>
class Block : public Matrix<Scalar> {
 public:
  Block(Matrix<Scalar>& whole, Index i, Index j, Matrix<Scalar> entries)
      : Matrix<Scalar>(std::move(entries)), whole_(whole), i_(i), j_(j) {}
  Block(const Block&) = default;
  Block& operator=(const Matrix<Scalar>& entries);
  Block& operator=(const Block& other) { return *this = static_cast<const Matrix<Scalar>&>(other); }
  Block& operator+=(const Matrix<Scalar>& other) { return *this = *this + other; }
  Block& operator-=(const Matrix<Scalar>& other) { return *this = *this - other; }
  Block& operator*=(const Scalar& factor) { return *this = *this * factor; }
  Block& operator/=(const Scalar& divisor) { return *this = *this / divisor; }
  void set_constant(const Scalar& value) {
    *this = Matrix<Scalar>::constant(this->rows(), this->cols(), value);
  }
  void set_zero() { set_constant(Scalar(0)); }
  const Scalar& operator()(Index i) const { return Matrix<Scalar>::operator()(i); }
  auto begin() const { return Matrix<Scalar>::begin(); }
  auto end() const { return Matrix<Scalar>::end(); }

 private:
  Matrix<Scalar>& whole_;
  Index i_, j_;
};

/// a.each_row() += row.
template <typename Scalar>
class EachRow {
 public:
  explicit EachRow(Matrix<Scalar>& matrix) : matrix_(matrix) {}
  void operator+=(const Matrix<Scalar>& row) { matrix_ = matrix_.plus_row(row); }
  void operator-=(const Matrix<Scalar>& row) { matrix_ = matrix_.plus_row(-row); }
  void operator=(const Matrix<Scalar>& row) {
    matrix_ = Matrix<Scalar>(matrix_.rows(), matrix_.cols()).plus_row(row);
  }

 private:
  Matrix<Scalar>& matrix_;
};

/// What stands right of <<.
template <typename Scalar>
class EntryList {
 public:
  explicit EntryList(Matrix<Scalar>& matrix) : matrix_(matrix) {}
  EntryList& operator,(const Scalar& entry) { return *this, Matrix<Scalar>::constant(1, 1, entry); }
  EntryList& operator,(const Matrix<Scalar>& part);
  Matrix<Scalar>& finished() { return matrix_; }

 private:
  Matrix<Scalar>& matrix_;
  Index i_ = 0, j_ = 0, height_ = 0;  // where the next part begins; the height of this band
};

}  // namespace kappascope::theory
