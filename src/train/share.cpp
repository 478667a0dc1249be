// SPDX-License-Identifier: Apache-2.0
#include "train/share.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <cstddef>

#include "kappascope/core/error.h"

namespace kappascope::train {
namespace {

/// Adds up tensors of one type in one call, through a buffer.
void add_up_together(const std::vector<at::Tensor>& tensors, tensor::Group& group) {
  std::vector<at::Tensor> flat;
  flat.reserve(tensors.size());
  for (const auto& tensor : tensors) flat.push_back(tensor.reshape(-1));
  auto buffer = torch::cat(flat);
  group.add_up(buffer);
  int64_t begin = 0;
  for (const auto& tensor : tensors) {
    tensor.copy_(buffer.narrow(0, begin, tensor.numel()).view_as(tensor));
    begin += tensor.numel();
  }
}

}  // namespace

Share::Share(const at::Tensor& rows, tensor::Group* group) : rows_(rows), group_(group) {
  if (group_ == nullptr) return;
  if (rows.numel() < group_->size()) {
    throw UsageError(
        fmt::format("a batch of {} does not reach for {} processes: set train.batch to "
                    "at least {}, or start fewer",
                    rows.numel(),
                    group_->size(),
                    group_->size()));
  }
  rows_ = rows.tensor_split(group_->size()).at(static_cast<std::size_t>(group_->rank()));
  of_all_ = static_cast<double>(rows_.numel()) / static_cast<double>(rows.numel());
}

double Share::add_up(double loss, const std::vector<at::Tensor>& parameters) const {
  if (group_ == nullptr) return loss;
  constexpr int64_t kBytes = 25'000'000;  // of a call; what it copies is held beside the gradients
  std::vector<at::Tensor> together;
  int64_t bytes = 0;
  const auto send = [&] {
    if (!together.empty()) add_up_together(together, *group_);
    together.clear();
    bytes = 0;
  };
  const torch::NoGradGuard no_grad;
  for (const auto& parameter : parameters) {
    const auto& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    const auto size = static_cast<int64_t>(gradient.nbytes());
    const bool fits =
        bytes + size <= kBytes && (together.empty() || together.back().dtype() == gradient.dtype());
    if (!fits) send();
    together.push_back(gradient);
    bytes += size;
  }
  send();
  auto sum = torch::full({1}, loss * of_all_, torch::kDouble);
  group_->add_up(sum);
  return sum.item<double>();
}

}  // namespace kappascope::train
