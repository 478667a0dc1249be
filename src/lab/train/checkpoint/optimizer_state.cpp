// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/module.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <memory>
#include <set>
#include <typeinfo>
#include <utility>

#include "core/require.h"
#include "lab/train/optimizer.h"

namespace kappascope::train {
namespace {

using torch::optim::OptimizerParamState;

template <typename Slot>
struct AdamSlot {
  static tensor::State state(const OptimizerParamState& any) {
    const auto& slot = static_cast<const Slot&>(any);
    tensor::State out;
    out.set("step", slot.step());
    out.set("exp_avg", slot.exp_avg());
    out.set("exp_avg_sq", slot.exp_avg_sq());
    return out;
  }
  static std::unique_ptr<OptimizerParamState> slot(const tensor::State& state,
                                                   const at::Tensor& parameter) {
    const auto read = [&](const char* name) {
      return state.tensor(name, parameter.scalar_type(), parameter.sizes()).to(parameter.device());
    };
    auto slot = std::make_unique<Slot>();
    slot->step(state.integer("step"));
    require(slot->step() >= 0, "the saved state has taken {} steps", slot->step());
    slot->exp_avg(read("exp_avg"));
    slot->exp_avg_sq(read("exp_avg_sq"));
    return slot;
  }
};

struct SgdSlot {
  using Slot = torch::optim::SGDParamState;

  static tensor::State state(const OptimizerParamState& any) {
    tensor::State out;
    const auto& momentum = static_cast<const Slot&>(any).momentum_buffer();
    if (momentum.defined()) out.set("momentum", momentum);
    return out;
  }
  static std::unique_ptr<OptimizerParamState> slot(const tensor::State& state,
                                                   const at::Tensor& parameter) {
    auto slot = std::make_unique<Slot>();
    slot->momentum_buffer(state.tensor("momentum", parameter.scalar_type(), parameter.sizes())
                              .to(parameter.device()));
    return slot;
  }
};

/// Calls work(Kind()) with the kind of state that the optimiser keeps.
template <typename Work>
auto of_kind(const torch::optim::Optimizer& optimizer, Work work) {
  // AdamW is no Adam in LibTorch.
  if (dynamic_cast<const torch::optim::Adam*>(&optimizer) != nullptr)
    return work(AdamSlot<torch::optim::AdamParamState>());
  if (dynamic_cast<const torch::optim::AdamW*>(&optimizer) != nullptr)
    return work(AdamSlot<torch::optim::AdamWParamState>());
  require(dynamic_cast<const torch::optim::SGD*>(&optimizer) != nullptr,
          "the state of this optimiser cannot be saved: {}",
          typeid(optimizer).name());
  return work(SgdSlot());
}

}  // namespace

tensor::State optimizer_state(const torch::optim::Optimizer& optimizer,
                              const torch::nn::Module& model) {
  return of_kind(optimizer, [&](auto kind) {
    tensor::State out;
    std::set<const void*> seen;  // a shared parameter has several names
    for (const auto& item : model.named_parameters()) {
      const void* key = item.value().unsafeGetTensorImpl();
      const auto found = optimizer.state().find(const_cast<void*>(key));
      if (found != optimizer.state().end() && seen.insert(key).second)
        out.set(item.key(), kind.state(*found->second));
    }
    return out;
  });
}

void load_optimizer(const tensor::State& state,
                    torch::optim::Optimizer& optimizer,
                    const torch::nn::Module& model) {
  of_kind(optimizer, [&](auto kind) {
    for (const auto& item : model.named_parameters()) {
      if (!state.has(item.key())) continue;  // it has not been updated yet
      optimizer.state()[item.value().unsafeGetTensorImpl()] =
          kind.slot(state.inner(item.key()), item.value());
    }
  });
}

}  // namespace kappascope::train
