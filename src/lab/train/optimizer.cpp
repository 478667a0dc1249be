// SPDX-License-Identifier: Apache-2.0
#include "lab/train/optimizer.h"

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/require.h"
#include "kappascope/nn/tapped_linear.h"

namespace kappascope::train {
namespace {

using Kernel = void (*)(at::TensorList parameters,
                        at::TensorList gradients,
                        at::TensorList means,
                        at::TensorList squares,
                        at::TensorList largest_squares,
                        at::TensorList steps,
                        double rate,
                        double beta1,
                        double beta2,
                        double decay,
                        double eps,
                        bool amsgrad,
                        bool maximize,
                        const std::optional<at::Tensor>& scale,
                        const std::optional<at::Tensor>& overflow);

struct AdamParts {
  using Base = torch::optim::Adam;
  using Options = torch::optim::AdamOptions;
  using State = torch::optim::AdamParamState;
  static constexpr Kernel kUpdate = at::_fused_adam_;
};

/// The decay of the weights does not go through the gradient.
struct AdamWParts {
  using Base = torch::optim::AdamW;
  using Options = torch::optim::AdamWOptions;
  using State = torch::optim::AdamWParamState;
  static constexpr Kernel kUpdate = at::_fused_adamw_;
};

template <typename Parts>
class Fused final : public Parts::Base {
 public:
  using Parts::Base::Base;

  torch::Tensor step(torch::optim::Optimizer::LossClosure closure) override {
    require(!closure, "the fused step takes no closure");
    const torch::NoGradGuard no_grad;
    for (auto& group : this->param_groups_) {
      const auto& options = static_cast<const typename Parts::Options&>(group.options());
      require(!options.amsgrad(), "the fused step does not know AMSGrad");
      for (auto& parameter : group.params()) {
        if (parameter.grad().defined()) step(parameter, options);
      }
    }
    return {};
  }

 private:
  void step(const at::Tensor& parameter, const typename Parts::Options& options) {
    auto& state = state_of(parameter);
    state.step(state.step() + 1);
    const auto count = torch::full({}, state.step(), parameter.options().dtype(torch::kFloat));
    const auto [beta1, beta2] = options.betas();
    Parts::kUpdate({parameter},
                   {parameter.grad()},
                   {state.exp_avg()},
                   {state.exp_avg_sq()},
                   {},
                   {count},
                   options.lr(),
                   beta1,
                   beta2,
                   options.weight_decay(),
                   options.eps(),
                   /*amsgrad=*/false,
                   /*maximize=*/false,
                   {},
                   {});
  }

  typename Parts::State& state_of(const at::Tensor& parameter) {
    auto& slot = this->state_[parameter.unsafeGetTensorImpl()];
    if (!slot) {
      auto fresh = std::make_unique<typename Parts::State>();
      fresh->exp_avg(torch::zeros_like(parameter));
      fresh->exp_avg_sq(torch::zeros_like(parameter));
      slot = std::move(fresh);
    }
    return static_cast<typename Parts::State&>(*slot);
  }
};

/// Parameters that decay, and those that do not.
struct Decay {
  std::vector<at::Tensor> with, without;
};

using torch::optim::OptimizerParamGroup;

template <typename Options>
std::vector<OptimizerParamGroup> groups(const Decay& parameters, const Options& options) {
  std::vector<OptimizerParamGroup> out;
  out.emplace_back(parameters.with, std::make_unique<Options>(options));
  if (parameters.without.empty()) return out;
  auto none = std::make_unique<Options>(options);
  none->weight_decay(0);
  out.emplace_back(parameters.without, std::move(none));
  return out;
}

template <typename Parts>
std::unique_ptr<torch::optim::Optimizer> fused(const TrainConfig& config, const Decay& parameters) {
  const auto options = typename Parts::Options(config.learning_rate)
                           .betas(std::tuple{config.beta1, config.beta2})
                           .weight_decay(config.weight_decay);
  return std::make_unique<Fused<Parts>>(groups(parameters, options), options);
}

std::unique_ptr<torch::optim::Optimizer> make(const TrainConfig& config, const Decay& parameters) {
  if (config.optimizer == "adam") return fused<AdamParts>(config, parameters);
  if (config.optimizer == "adamw") return fused<AdamWParts>(config, parameters);
  const auto options = torch::optim::SGDOptions(config.learning_rate)
                           .momentum(config.momentum)
                           .weight_decay(config.weight_decay);
  return std::make_unique<torch::optim::SGD>(groups(parameters, options), options);
}

}  // namespace

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainConfig& config,
                                                        const std::vector<at::Tensor>& parameters) {
  return make(config, {parameters, {}});
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainConfig& config,
                                                        const torch::nn::Module& model) {
  if (config.decay_of == "all") return make_optimizer(config, model.parameters());
  std::set<const void*> matrices;
  for (const auto& part : model.modules(/*include_self=*/false)) {
    if (const auto* linear = part->as<torch::nn::LinearImpl>())
      matrices.insert(linear->weight.unsafeGetTensorImpl());
    if (const auto* tapped = part->as<nn::TappedLinearImpl>())
      matrices.insert(tapped->weight.unsafeGetTensorImpl());
  }
  Decay parameters;
  for (const auto& parameter : model.parameters()) {
    const bool decays = matrices.contains(parameter.unsafeGetTensorImpl());
    (decays ? parameters.with : parameters.without).push_back(parameter);
  }
  return make(config, parameters);
}

double optimizer_bytes(const TrainConfig& config) {
  constexpr double kFloat = 4;
  if (config.optimizer != "sgd") return 2 * kFloat;
  return config.momentum > 0 ? kFloat : 0;
}

}  // namespace kappascope::train
