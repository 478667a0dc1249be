// SPDX-License-Identifier: Apache-2.0
#include "probes/attention.h"

#include <torch/types.h>

#include <cmath>

#include "core/require.h"
#include "kappascope/core/statistics.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

/// The mean of independent values, 95 % by Student's t where there are two.
void add_mean(store::Snapshot& out,
              const std::string& series,
              const std::string& layer,
              const at::Tensor& values) {
  const auto known = values.index({values.isfinite()});
  const auto n = static_cast<double>(known.numel());
  const double mean = known.mean().item<double>();
  if (n < 2) {
    add_scalar(out, series, layer, mean);
  } else {
    const double error = student_quantile(0.975, n - 1) * known.std().item<double>() / std::sqrt(n);
    add_scalar(out, series, layer, mean, mean - error, mean + error);
  }
  out.scalars.back().n = n;
}

}  // namespace

void Attention::Layer::add(const at::Tensor& more_largest, const at::Tensor& more_entropy) {
  if (largest.defined()) {
    require(largest.numel() == more_largest.numel(),
            "an attention layer of {} heads has {} in a later pass",
            largest.numel(),
            more_largest.numel());
  }
  largest = larger(largest, more_largest);
  entropy = entropy.defined() ? torch::cat({entropy, more_entropy}) : more_entropy;
}

void Attention::observe(const session::StepView& view) {
  if (view.attentions == nullptr) return;
  for (const auto& attention : *view.attentions)
    observe_layer(layers_, failures_, attention.name, [&] {
      const auto found = tensor::summarise(attention.input);
      layers_[attention.name].add(found.largest.cpu(), found.entropy.cpu());
    });
}

void Attention::emit(store::Snapshot& out) {
  emit_layers(layers_, failures_, name(), out, write);
}

void Attention::write(const std::string& name, const Layer& layer, store::Snapshot& out) {
  add_scalar(out, id::kLargestLogit, name, layer.largest.max().item<double>());
  add_mean(out, id::kAttentionEntropy, name, layer.entropy.nanmean(1));
  const auto by_head = layer.entropy.nanmean(0);
  add_scalar(out,
             id::kLowestEntropy,
             name,
             by_head.index({by_head.isfinite()}).numel() > 0
                 ? by_head.nan_to_num(1).min().item<double>()
                 : std::nan(""));
}

void Attention::emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) {
  share_layers(group, layers_, failures_, state_of, layer_of, [](Layer& sum, const Layer& layer) {
    sum.add(layer.largest, layer.entropy);
  });
  emit(out);
}

tensor::State Attention::state_of(const Layer& layer) {
  tensor::State out;
  out.set("largest", layer.largest);
  out.set("entropy", layer.entropy);
  return out;
}

Attention::Layer Attention::layer_of(const tensor::State& state) {
  Layer layer;
  layer.largest = state.tensor("largest", torch::kDouble, {-1});
  layer.entropy = state.tensor("entropy", torch::kDouble, {-1, layer.largest.numel()});
  return layer;
}

tensor::State Attention::state() const {
  return layer_states(layers_, state_of);
}

void Attention::load(const tensor::State& state) {
  failures_ = {};
  load_layers(state, layers_, layer_of);
}

}  // namespace kappascope::probes
