// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace kappascope::tensor {

/// Rows about a shift, where they are.
struct Centred {
  at::Tensor rows;        ///< [n, d] float, or double for double rows; zero where a row is left out
  at::Tensor keep;        ///< [n] bool: in the mask and finite; undefined when every row is kept
  at::Tensor sums;        ///< [d] of the kept rows
  int64_t kept = 0;       ///< rows kept
  int64_t nonfinite = 0;  ///< rows of the mask left out because an entry was NaN or infinite
};

/// `mask` [n] bool or undefined. Rows on a CUDA device go through one kernel (src/cuda/centre_rows)
/// when the build has it; the host and other builds use LibTorch's operations, with the same bits.
Centred centre(const at::Tensor& rows, const at::Tensor& mask, const at::Tensor& shift);

}  // namespace kappascope::tensor
