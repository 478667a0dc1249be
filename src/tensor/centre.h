// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace kappascope::tensor {

/// What rows about a shift add up to, and which rows that was.
struct RowSums {
  at::Tensor keep;     ///< [n] bool: in the mask and finite; undefined when every row is kept
  at::Tensor sums;     ///< [groups, d] double, of each group's kept rows; [1, d] for single rows
  at::Tensor squares;  ///< as sums, of squares; [1, d] for single rows
  at::Tensor powers;   ///< [3, d] double, of all kept rows y: Σ y³, Σ y⁴, Σ ‖y‖² y
  double length_fourth = 0;  ///< Σ ‖y‖⁴
  int64_t kept = 0;          ///< rows kept
  int64_t nonfinite = 0;     ///< rows of the mask left out because an entry was NaN or infinite
};

struct Centred : RowSums {
  at::Tensor rows;  ///< [n, d] float, or double for double rows; zero where a row is left out
};

/// Rows [n, d] about a shift [d] of float or double, where the rows are. `mask` [n] bool or
/// undefined; groups of `rows_per_group` rows follow each other. Rows on a CUDA device go through
/// one kernel (src/cuda/centre_rows) when the build has it; other devices and builds use LibTorch's
/// operations, with the same bits.
Centred centre(const at::Tensor& rows,
               const at::Tensor& mask,
               const at::Tensor& shift,
               int64_t rows_per_group = 1);

}  // namespace kappascope::tensor
