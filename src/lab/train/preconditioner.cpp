// SPDX-License-Identifier: Apache-2.0
#include "lab/train/preconditioner.h"

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace kappascope::train {
namespace {

using curvature::NamedParameters;
using curvature::Preconditioner;

/// What of the options decides how a gradient becomes a step; weight decay does not.
auto what_decides(const torch::optim::SGDOptions& options) {
  return std::tuple(options.lr(), options.momentum(), options.dampening(), options.nesterov());
}
template <typename Options>
auto what_decides(const Options& options) {
  return std::tuple(options.lr(), options.betas(), options.eps(), options.amsgrad());
}

/// The options that hold for all of the parameters, or nullptr.
template <typename Options>
const Options* common_options(const torch::optim::Optimizer& optimizer,
                              const NamedParameters& parameters) {
  const Options* common = nullptr;
  for (const auto& [name, parameter] : parameters) {
    const auto& groups = optimizer.param_groups();
    const auto group = std::ranges::find_if(groups, [&, &p = parameter](const auto& candidate) {
      return std::ranges::any_of(candidate.params(), [&](const auto& q) { return q.is_same(p); });
    });
    if (group == groups.end()) return nullptr;
    const auto& options = static_cast<const Options&>(group->options());
    if (common != nullptr && what_decides(options) != what_decides(*common)) return nullptr;
    common = &options;
  }
  return common;
}

template <typename Options, typename State>
std::optional<Preconditioner> of_adam(const torch::optim::Optimizer& optimizer,
                                      const NamedParameters& parameters) {
  const auto* options = common_options<Options>(optimizer, parameters);
  if (options == nullptr || options->amsgrad()) return std::nullopt;
  const auto [beta1, beta2] = options->betas();
  curvature::AdamMoments moments{
      .rate = options->lr(), .beta1 = beta1, .beta2 = beta2, .eps = options->eps()};
  for (const auto& [name, parameter] : parameters) {
    const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
    if (found == optimizer.state().end()) return std::nullopt;
    const auto& state = static_cast<const State&>(*found->second);
    if (state.step() == 0) return std::nullopt;
    moments.second.push_back(state.exp_avg_sq());
    moments.steps = state.step();
  }
  return curvature::adam_preconditioner(moments);
}

}  // namespace

std::optional<Preconditioner> preconditioner(const torch::optim::Optimizer& optimizer,
                                             const NamedParameters& parameters) {
  using torch::optim::Adam;
  using torch::optim::AdamOptions;
  using torch::optim::AdamParamState;
  using torch::optim::AdamW;
  using torch::optim::AdamWOptions;
  using torch::optim::AdamWParamState;
  using torch::optim::SGD;
  using torch::optim::SGDOptions;
  // AdamW is no Adam in LibTorch.
  if (dynamic_cast<const Adam*>(&optimizer) != nullptr)
    return of_adam<AdamOptions, AdamParamState>(optimizer, parameters);
  if (dynamic_cast<const AdamW*>(&optimizer) != nullptr)
    return of_adam<AdamWOptions, AdamWParamState>(optimizer, parameters);
  if (dynamic_cast<const SGD*>(&optimizer) == nullptr) return std::nullopt;
  const auto* options = common_options<SGDOptions>(optimizer, parameters);
  if (options == nullptr || options->nesterov() || options->dampening() != 0) return std::nullopt;
  return Preconditioner{.limit = curvature::momentum_limit(options->lr(), options->momentum())};
}

}  // namespace kappascope::train
