// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kappascope::tensor {

/// Rows [n, d] of sequences that follow each other, and how many of them each sequence has, none 0.
struct SequenceRows {
  at::Tensor rows;
  std::vector<int64_t> group_rows;
};

/// Those rows that hold finite numbers alone. Throws Error where `rows` are no floating-point
/// numbers [n, d], or the sequences do not have n.
SequenceRows finite_rows(const at::Tensor& rows, std::vector<int64_t> group_rows);

}  // namespace kappascope::tensor
