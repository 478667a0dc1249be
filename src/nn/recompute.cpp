// SPDX-License-Identifier: Apache-2.0
#include "nn/recompute.h"

#include <ATen/core/ivalue.h>
#include <torch/autograd.h>
#include <torch/custom_class.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <utility>

namespace kappascope::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Of the host's generator and that of a device.
struct RandomStates {
  at::Tensor host, device;
};

at::Generator generator_of(const at::Device& device) {
  return at::globalContext().defaultGenerator(device);
}

bool has_generator(const at::Device& device) {
  return device.is_cuda();
}

RandomStates random_states(const at::Device& device) {
  RandomStates states{generator_of(torch::kCPU).get_state(), {}};
  if (has_generator(device)) states.device = generator_of(device).get_state();
  return states;
}

void set(const RandomStates& states, const at::Device& device) {
  generator_of(torch::kCPU).set_state(states.host);
  if (has_generator(device)) generator_of(device).set_state(states.device);
}

/// From a random state of before, for as long as it lives.
class Replay {
 public:
  Replay(const RandomStates& from, const at::Device& device)
      : now_(random_states(device)), device_(device) {
    set(from, device);
  }
  ~Replay() { set(now_, device_); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

 private:
  RandomStates now_;
  at::Device device_;
};

/// What runs again, held by the graph.
struct Rerun final : torch::CustomClassHolder {
  Rerun(std::function<at::Tensor(const at::Tensor&)> run, RandomStates from)
      : block(std::move(run)), states(std::move(from)) {}
  std::function<at::Tensor(const at::Tensor&)> block;
  RandomStates states;
};

struct Recomputed : torch::autograd::Function<Recomputed> {
  static at::Tensor forward(AutogradContext* ctx,
                            const c10::intrusive_ptr<Rerun>& rerun,
                            const at::Tensor& x,
                            at::TensorList parameters) {
    variable_list kept = {x};
    kept.insert(kept.end(), parameters.begin(), parameters.end());
    ctx->save_for_backward(std::move(kept));
    ctx->saved_data["rerun"] = c10::IValue::make_capsule(rerun);
    return rerun->block(x);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& outer) {
    auto inputs = ctx->get_saved_variables();
    const auto rerun =
        c10::static_intrusive_pointer_cast<Rerun>(ctx->saved_data.at("rerun").toCapsule());
    // Whoever differentiates the gradients again needs them as functions of x.
    const bool twice = torch::GradMode::is_enabled();
    const torch::AutoGradMode recording(true);
    if (!twice) inputs[0] = inputs[0].detach().requires_grad_(inputs[0].requires_grad());
    const auto y = [&] {
      const Replay replay(rerun->states, inputs[0].device());
      return rerun->block(inputs[0]);
    }();
    variable_list wanted;
    for (const auto& input : inputs) {
      if (input.requires_grad()) wanted.push_back(input);
    }
    auto found = torch::autograd::grad({y},
                                       wanted,
                                       {outer.at(0)},
                                       /*retain_graph=*/twice,
                                       /*create_graph=*/twice,
                                       /*allow_unused=*/true);
    variable_list gradients = {at::Tensor()};  // of `rerun`
    auto next = found.begin();
    for (const auto& input : inputs)
      gradients.push_back(input.requires_grad() ? std::move(*next++) : at::Tensor());
    return gradients;
  }
};

}  // namespace

at::Tensor recomputed(std::function<at::Tensor(const at::Tensor&)> block,
                      const at::Tensor& x,
                      const std::vector<at::Tensor>& parameters) {
  auto rerun = c10::make_intrusive<Rerun>(std::move(block), random_states(x.device()));
  return Recomputed::apply(rerun, x, at::TensorList(parameters));
}

}  // namespace kappascope::nn
