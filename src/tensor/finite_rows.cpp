// SPDX-License-Identifier: Apache-2.0
#include "tensor/finite_rows.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <numeric>
#include <utility>

#include "core/require.h"

namespace kappascope::tensor {
namespace {

/// [n] bool on the host. Blocks of rows, for the test makes copies.
at::Tensor are_finite(const at::Tensor& rows) {
  constexpr int64_t kBlock = 512;
  std::vector<at::Tensor> finite;
  for (const auto& block : rows.split(kBlock)) finite.push_back(block.isfinite().all(1));
  return torch::cat(finite).cpu();
}

}  // namespace

SequenceRows finite_rows(const at::Tensor& rows, std::vector<int64_t> group_rows) {
  require(rows.defined() && rows.dim() == 2 && rows.is_floating_point(),
          "features must be [rows, d] of floating-point numbers");
  require(std::accumulate(group_rows.begin(), group_rows.end(), int64_t{0}) == rows.size(0),
          "the groups do not have {} rows",
          rows.size(0));
  const torch::NoGradGuard no_grad;
  SequenceRows kept{rows.detach(), std::move(group_rows)};
  if (rows.numel() > 0) {
    const auto finite = are_finite(kept.rows);
    if (!finite.all().item<bool>()) {
      kept.rows = kept.rows.index({finite.to(rows.device())});
      int64_t first = 0;
      for (auto& group : kept.group_rows) {
        const auto before = std::exchange(first, first + group);
        group = finite.narrow(0, before, group).sum().item<int64_t>();
      }
    }
  }
  std::erase(kept.group_rows, 0);
  return kept;
}

}  // namespace kappascope::tensor
