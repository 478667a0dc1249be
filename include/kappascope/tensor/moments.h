// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "kappascope/linalg/features/moments.h"
#include "kappascope/tensor/state.h"

namespace kappascope::tensor {

/// What rounding to a floating type does to an entry.
linalg::RowPrecision precision_of(at::ScalarType type);

class LowerTriangle;
struct RowSums;

/// The fast twin of linalg::MomentAccumulator: the same sums for tensor rows, on the device where
/// the rows are. Rows of float (or bfloat16, half, which are widened) are centred and multiplied in
/// float, in blocks of at most kBlockRows rows that are merged into double; rows of double stay in
/// double. The lower triangle is multiplied in strips: about half of a full product.
///
/// bfloat16 and half are widened without error: such rows give the bits of the same rows as float.
/// Products are LibTorch's of float (cuBLAS on a device), never of TF32 or bfloat16, whatever its
/// settings allow elsewhere.
///
/// Error of an entry of the covariance from float rows: at most
/// (kBlockRows + 2) · 2⁻²⁴ · √(c_ii c_jj) with c the covariance about the shift, typically
/// √kBlockRows times that constant. It holds for any order of addition, so on every device; two
/// devices differ by twice that at most.
class MomentAccumulator {
 public:
  static constexpr int64_t kBlockRows = 4096;

  explicit MomentAccumulator(int64_t dimension, linalg::MomentOptions options = {});

  /// Adds rows [tokens, d]. `mask` [tokens] (bool), where given, leaves out the rows that are
  /// false. Rows with a NaN or an infinity are counted and left out. Rows of one group (the tokens
  /// of one sequence) follow each other. Throws when widths differ, when the group does not divide
  /// the rows, or when single rows and sequences are mixed; sequences may differ in length between
  /// updates.
  ///
  /// Rows count as rounded to their own type; where options.precision says that they were rounded
  /// more coarsely before, that holds.
  void update(const at::Tensor& rows, const at::Tensor& mask = {}, int64_t rows_per_group = 1);

  /// Adds what `other` has seen, whose rows are both of double or both of a narrower type. Throws
  /// when the dimensions differ, or one has single rows and the other sequences.
  void merge(const MomentAccumulator& other);

  [[nodiscard]] linalg::Moments result() const;
  [[nodiscard]] int64_t dimension() const { return dimension_; }
  [[nodiscard]] int64_t rows() const { return sums_.n; }

  [[nodiscard]] State state() const;
  /// Takes a state over. Throws Error where it is not one of the same dimension.
  void load(const State& state);

 private:
  void start(const at::Tensor& rows);
  void count(const at::Tensor& rows, const RowSums& seen, int64_t rows_per_group);
  template <typename Product>
  void multiply(int64_t rows, const Product& product);
  void keep_sample(const at::Tensor& rows);
  void flush() const;
  linalg::MomentSums sums() const;

  int64_t dimension_;
  linalg::Reservoir reservoir_;
  std::shared_ptr<const LowerTriangle> triangle_;
  int64_t rows_per_group_ = 0;
  linalg::MomentSums sums_;  // all but `cross`, which stays where the rows are
  at::Tensor shift_;         // [d], type of the rows
  // A block that waits to be merged; result() merges it, which changes no number.
  mutable at::Tensor cross_, block_;  // packed triangles, double and type of the rows
  mutable int64_t block_rows_ = 0;
};

}  // namespace kappascope::tensor
