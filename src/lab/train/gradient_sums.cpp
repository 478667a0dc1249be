// SPDX-License-Identifier: Apache-2.0
#include "lab/train/gradient_sums.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <utility>

#include "kappascope/core/error.h"

namespace kappascope::train {
namespace {

/// Called by the backward pass, after it has added to a parameter's gradient.
struct Added final : torch::autograd::PostAccumulateGradHook {
  explicit Added(std::function<void()> act) : call(std::move(act)) {}
  void operator()(const at::Tensor& /*parameter*/) override { call(); }
  std::function<void()> call;
};

}  // namespace

GradientSums::GradientSums(const std::vector<at::Tensor>& parameters,
                           std::int64_t passes,
                           tensor::Group& group,
                           std::int64_t bucket_bytes)
    : group_(group) {
  for (auto each = parameters.rbegin(); each != parameters.rend(); ++each) {
    const auto& parameter = *each;
    if (!parameter.requires_grad()) continue;
    const auto bytes = static_cast<std::int64_t>(parameter.nbytes());
    const bool fits = !buckets_.empty() && buckets_.back().bytes + bytes <= bucket_bytes &&
                      buckets_.back().parameters.back().dtype() == parameter.dtype();
    if (!fits) buckets_.emplace_back();
    auto& bucket = buckets_.back();
    bucket.parameters.push_back(parameter);
    bucket.bytes += bytes;
    bucket.missing += passes;
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameter, std::make_unique<Added>([this, i = buckets_.size() - 1] { added_to(i); }));
  }
}

GradientSums::~GradientSums() {
  for (const auto& bucket : buckets_) {
    for (const auto& parameter : bucket.parameters)
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

void GradientSums::added_to(std::size_t bucket) {
  // A pass reaches a parameter once, as often as the parameter may be used in it.
  if (--buckets_.at(bucket).missing < 0)
    throw Error("a backward pass has changed a gradient after its sum had begun");
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) send(buckets_[next_++]);
}

void GradientSums::send(Bucket& bucket) {
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : bucket.parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  if (!gradients.empty()) bucket.wait = group_.begin_add_up(gradients);
}

void GradientSums::finish() {
  for (; next_ < buckets_.size(); ++next_) send(buckets_[next_]);
  for (auto& bucket : buckets_) {
    if (bucket.wait) bucket.wait();
  }
}

}  // namespace kappascope::train
