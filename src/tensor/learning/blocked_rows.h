// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "linalg/learning/sketch.h"

namespace kappascope::tensor {

/// Rows in blocks, each about the mean of its half. Nothing is copied but a piece at a time, where
/// rows are narrower than float.
class BlockedRows {
 public:
  BlockedRows(at::Tensor rows, linalg::Blocks blocks);

  [[nodiscard]] const linalg::Blocks& blocks() const { return blocks_; }
  [[nodiscard]] int64_t dimension() const { return rows_.size(1); }
  /// Of vectors: float, or double for rows of double.
  [[nodiscard]] at::TensorOptions options() const { return rows_.options().dtype(type_); }
  /// [n_b, d]
  [[nodiscard]] at::Tensor block(Eigen::Index b) const;
  /// Calls `use(first, piece)` for rows [m, d] of a block that follow each other from its row
  /// `first`. On the host a piece fits into the cache: products with it read memory once, and need
  /// little of their own.
  void for_each_piece(Eigen::Index b,
                      const std::function<void(int64_t first, const at::Tensor& piece)>& use) const;
  /// [d] double: sums over the rows of a block.
  [[nodiscard]] const at::Tensor& sum(Eigen::Index b) const {
    return sums_[static_cast<std::size_t>(b)];
  }
  /// [d] double, of the blocks of a half but for one (-1: none).
  [[nodiscard]] at::Tensor mean(Eigen::Index half, Eigen::Index left_out = -1) const;
  [[nodiscard]] double rows(Eigen::Index half, Eigen::Index left_out = -1) const;
  /// [d] double, of all rows.
  [[nodiscard]] at::Tensor mean() const;
  [[nodiscard]] at::Tensor variance() const;

 private:
  at::Tensor rows_;
  linalg::Blocks blocks_;
  at::ScalarType type_;
  std::vector<at::Tensor> sums_;
};

}  // namespace kappascope::tensor
