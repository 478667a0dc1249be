// SPDX-License-Identifier: Apache-2.0
#include "kappascope/nn/tapped_linear.h"

#include <torch/nn/init.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>
#include <utility>

#include "core/require.h"

namespace kappascope::nn {

TappedLinearImpl::TappedLinearImpl(const TappedLinearOptions& options_) : options(options_) {
  require(options.in_features() > 0 && options.out_features() > 0,
          "TappedLinear needs at least one input and one output feature, got {} and {}",
          options.in_features(),
          options.out_features());
  require(0 <= options.branch() && options.branch() <= options.in_features(),
          "of {} input features {} cannot be a branch's",
          options.in_features(),
          options.branch());
  require(options.post_gating_bias() || !options.centred(),
          "without a post-gating bias there is nothing that centres");
  TappedLinearImpl::reset();
}

void TappedLinearImpl::reset() {
  weight =
      register_parameter("weight", torch::empty({options.out_features(), options.in_features()}));
  torch::nn::init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (options.post_gating_bias()) {
    const auto zeros = torch::zeros({options.in_features()});
    post_gating_bias = options.centred() ? register_buffer("post_gating_bias", zeros)
                                         : register_parameter("post_gating_bias", zeros);
  }
  // Last, where add_output_bias puts it too: a clone has its parameters in the same order.
  if (options.bias()) {
    const double bound = 1 / std::sqrt(static_cast<double>(options.in_features()));
    bias =
        register_parameter("bias", torch::empty({options.out_features()}).uniform_(-bound, bound));
  }
}

void TappedLinearImpl::add_output_bias() {
  require(!bias.defined(), "this TappedLinear has an output bias already");
  bias = register_parameter("bias", torch::zeros({options.out_features()}));
  options.bias(true);  // a clone is rebuilt from its options
}

void TappedLinearImpl::show_gates(const torch::Tensor& inputs) {
  if (tap.active()) gate_inputs_ = inputs.detach();
}

void TappedLinearImpl::gather_mean(bool on) {
  gathers_ = on;
}

torch::Tensor TappedLinearImpl::take_sums() {
  const auto none =
      torch::zeros({options.in_features() + 1}, weight.options().dtype(torch::kDouble));
  return sums_.defined() ? std::exchange(sums_, {}) : none;
}

torch::Tensor TappedLinearImpl::forward(const torch::Tensor& features) {
  if (gathers_ && is_training()) {
    const torch::NoGradGuard no_grad;
    const auto tokens = features.detach().reshape({-1, options.in_features()});
    const auto sum = tokens.sum(0, false, torch::kDouble);
    const auto one = torch::cat({sum, torch::full({1}, tokens.size(0), sum.options())});
    sums_ = sums_.defined() ? sums_ + one : one;
  }
  const auto regressor = post_gating_bias.defined() ? features + post_gating_bias : features;
  auto output = torch::linear(regressor, weight, bias);
  if (tap.active())
    tap({features,
         post_gating_bias,
         is_training() ? options.dropout() : 0,
         output,
         weight,
         options.branch(),
         std::exchange(gate_inputs_, {})});
  return output;
}

std::vector<std::pair<std::string, TappedLinearImpl*>> find_tapped(torch::nn::Module& module) {
  std::vector<std::pair<std::string, TappedLinearImpl*>> found;
  if (auto* self = dynamic_cast<TappedLinearImpl*>(&module)) found.emplace_back("down", self);
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    if (auto* tapped = dynamic_cast<TappedLinearImpl*>(item.value().get())) {
      found.emplace_back(item.key(), tapped);
    }
  }
  return found;
}

}  // namespace kappascope::nn
