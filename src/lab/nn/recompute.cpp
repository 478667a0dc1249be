// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/recompute.h"

#include <ATen/core/ivalue.h>
#include <torch/autograd.h>
#include <torch/custom_class.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <optional>
#include <utility>

#include "tensor/autocast.h"
#include "tensor/random_states.h"

namespace kappascope::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What runs again, held by the graph.
struct Rerun final : torch::CustomClassHolder {
  Rerun(std::function<at::Tensor(const at::Tensor&)> run, const at::Device& device)
      : block(std::move(run)),
        states(tensor::RandomStates::of(device)),
        autocast(tensor::Autocast::now(device.type())) {}
  std::function<at::Tensor(const at::Tensor&)> block;
  tensor::RandomStates states;
  std::optional<at::ScalarType> autocast;
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
    const tensor::NoCastCache uncached;
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
      const auto device = inputs[0].device();
      const tensor::KeepRandomStates keep(device);
      const tensor::Autocast as_before(device.type(), rerun->autocast);
      rerun->states.restore(device);
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
  auto rerun = c10::make_intrusive<Rerun>(std::move(block), x.device());
  return Recomputed::apply(rerun, x, at::TensorList(parameters));
}

}  // namespace kappascope::nn
