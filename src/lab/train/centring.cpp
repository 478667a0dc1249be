// SPDX-License-Identifier: Apache-2.0
#include "lab/train/centring.h"

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/session/session.h"
#include "lab/train/problems/problem.h"
#include "tensor/random_states.h"

namespace kappascope::train {
namespace {

/// b goes this share of the way to minus the mean of what the layer gathered.
void go(nn::TappedLinearImpl& layer, double share, tensor::Group* group) {
  auto sums = layer.take_sums();
  if (group != nullptr) group->add_up(sums);
  const auto mean = sums.slice(0, 0, -1) / sums[-1];
  const torch::NoGradGuard no_grad;
  layer.post_gating_bias.mul_(1 - share).sub_(mean.to(layer.post_gating_bias.dtype()), share);
}

}  // namespace

Centring::Centring(const Task& task, session::Session& session)
    : problem_(*task.problem), session_(session) {
  for (const auto& [name, layer] : nn::find_tapped(problem_.model())) {
    if (!layer->post_gating_bias.defined()) continue;
    if (layer->options.centred()) kept_.push_back(layer);
    if (layer->options.centred() || task.config.bias_start == "mean") begun_.push_back(layer);
  }
}

void Centring::begin(const at::Tensor& rows) {
  if (begun_.empty()) return;
  const tensor::KeepRandomStates keep(begun_.front()->weight.device());
  session_.outside([&] {
    const torch::NoGradGuard no_grad;
    for (auto* layer : begun_) {
      layer->gather_mean(true);
      static_cast<void>(problem_.mean_loss(data::Split::kTrain, rows));
      layer->gather_mean(false);
      go(*layer, 1, session_.group());
    }
  });
}

void Centring::gather(bool on) {
  for (auto* layer : kept_) layer->gather_mean(on);
}

void Centring::follow() {
  for (auto* layer : kept_) go(*layer, kRate, session_.group());
}

}  // namespace kappascope::train
