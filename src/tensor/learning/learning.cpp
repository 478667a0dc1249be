// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/learning.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <utility>
#include <vector>

#include "core/require.h"
#include "linalg/features/row_scale.h"
#include "tensor/convert.h"
#include "tensor/finite_rows.h"
#include "tensor/full_float.h"
#include "tensor/learning/sketch.h"

namespace kappascope::tensor {
linalg::Learning learning(const at::Tensor& rows,
                          const std::vector<int64_t>& group_rows,
                          const at::Tensor& bias,
                          const LearningOptions& options) {
  const auto finite = finite_rows(rows, group_rows);
  require(!bias.defined() || (bias.dim() == 1 && bias.is_floating_point()),
          "a bias must be a vector [d] of floating-point numbers, got {} dimensions",
          bias.defined() ? bias.dim() : 0);
  const torch::NoGradGuard no_grad;
  const FullFloat full_float;
  auto shift = bias.defined() ? to_vector(bias) : Eigen::VectorXd();
  linalg::check(options, 0, rows.size(1), shift);

  linalg::Learning result;
  auto values = finite.rows;
  const std::vector<Eigen::Index> groups(finite.group_rows.begin(), finite.group_rows.end());
  result.rows = values.size(0);
  result.groups = std::ssize(groups);
  result.nonfinite_rows = rows.size(0) - result.rows;
  auto blocks = linalg::blocks_of(groups);
  linalg::LearningTimes& times = result;
  if (blocks.count() == 0 || values.size(1) == 0) {
    times = linalg::too_few_groups();
    return result;
  }
  const auto [low, high] = values.aminmax();
  const double scale = linalg::row_scale(std::max(-low.item<double>(), high.item<double>()));
  if (scale != 1) {
    values = values.to(torch::kDouble) * scale;
    shift *= scale;
  }
  const BlockedRows blocked(values, std::move(blocks));
  times = linalg::learn(options,
                        to_vector(blocked.mean()),
                        to_vector(blocked.variance()),
                        shift,
                        [&](const Eigen::VectorXd& diagonal) {
                          return sketch_of(blocked, diagonal, shift, options);
                        });
  return result;
}

linalg::Learning learning(const at::Tensor& rows,
                          const at::Tensor& bias,
                          const LearningOptions& options) {
  require(rows.defined() && (rows.dim() == 2 || rows.dim() == 3),
          "features must be [rows, d] or [sequences, tokens, d], got {} dimensions",
          rows.defined() ? rows.dim() : 0);
  const auto group = options.rows_per_group > 0 ? options.rows_per_group
                     : rows.dim() == 3          ? std::max<int64_t>(1, rows.size(1))
                                                : 1;
  const auto values = rows.reshape({-1, rows.size(-1)});
  require(values.size(0) % group == 0, "groups of {} do not divide {} rows", group, values.size(0));
  return learning(values,
                  std::vector<int64_t>(static_cast<std::size_t>(values.size(0) / group), group),
                  bias,
                  options);
}

}  // namespace kappascope::tensor
