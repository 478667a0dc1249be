// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "linalg/learning/sketch.h"
#include "tensor/learning/blocked_rows.h"

namespace kappascope::tensor {

/// How much rows vary along known directions, and how much their signed sums say they do. Where
/// the directions do not depend on the signs, the difference has mean zero over them, so that a
/// trace may be corrected by it: what is known no longer adds to the random vectors' error.
class Control {
 public:
  /// Of every direction u [count, d]: Σ (uᵀy)² over the rows of each block, and uᵀ times each
  /// block's signed sums.
  Control(const BlockedRows& rows,
          const at::Tensor& scale,
          const std::vector<at::Tensor>& sums,
          const at::Tensor& directions);

  /// Corrects what Lanczos found of a part of `rows` rows, a half but for one block (-1: none), by
  /// its own directions, the `first` to the `last`, and takes the last for its top.
  void correct(Eigen::Index first,
               Eigen::Index last,
               Eigen::Index half,
               Eigen::Index left_out,
               double rows,
               linalg::Trained& part) const;

 private:
  /// Σ over blocks of what rows vary along direction i.
  [[nodiscard]] double squares(const std::vector<Eigen::Index>& blocks, Eigen::Index i) const;
  /// That less what the sum of the blocks' signed sums says, in the mean of its columns.
  [[nodiscard]] double missed(const std::vector<Eigen::Index>& blocks, Eigen::Index i) const;

  std::vector<Eigen::VectorXd> squares_;  // [blocks] of [count]
  std::vector<Eigen::MatrixXd> signed_;   // [blocks] of [count, p]
};

}  // namespace kappascope::tensor
