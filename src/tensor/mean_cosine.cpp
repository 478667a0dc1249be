// SPDX-License-Identifier: Apache-2.0
#include "tensor/mean_cosine.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <limits>

namespace kappascope::tensor {

void MeanCosine::update(const at::Tensor& rows) {
  const torch::NoGradGuard no_grad;
  auto wide = rows.detach();
  if (wide.scalar_type() != torch::kDouble) wide = wide.to(torch::kFloat);
  auto lengths = torch::linalg_vector_norm(wide, 2, torch::IntArrayRef{1});
  const auto directed = lengths.isfinite().logical_and(lengths > 0);
  const auto count = directed.sum().item<int64_t>();
  if (count < wide.size(0)) {
    wide = wide.index({directed});
    lengths = lengths.index({directed});
  }
  const auto sum = wide.t().mv(lengths.reciprocal()).to(torch::kDouble);
  sum_ = sum_.defined() ? sum_.to(sum.device()) + sum : sum;
  rows_ += count;
}

void MeanCosine::merge(const MeanCosine& other) {
  if (!other.sum_.defined()) return;
  sum_ = sum_.defined() ? sum_ + other.sum_.to(sum_.device()) : other.sum_;
  rows_ += other.rows_;
}

double MeanCosine::result() const {
  if (rows_ < 2) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(rows_);
  return (sum_.dot(sum_).item<double>() - n) / (n * (n - 1));
}

State MeanCosine::state() const {
  State out;
  out.set("rows", rows_);
  if (sum_.defined()) out.set("sum", sum_);
  return out;
}

void MeanCosine::load(const State& state) {
  rows_ = state.integer("rows");
  sum_ = state.has("sum") ? state.tensor("sum", torch::kDouble, {-1}) : at::Tensor();
}

}  // namespace kappascope::tensor
