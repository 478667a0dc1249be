// SPDX-License-Identifier: Apache-2.0
#include "probes/magnitudes.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "probes/layer_windows.h"
#include "probes/scalars.h"
#include "tensor/magnitudes.h"

namespace kappascope::probes {
namespace id = store::id;
namespace {

constexpr const char* kLargest = "largest_by_channel";

}  // namespace

int64_t Magnitudes::capacity_for(int64_t dimension) {
  constexpr int64_t kValues = 1 << 19, kFewest = 128, kMost = 4096;
  return std::clamp(kValues / dimension, kFewest, kMost);
}

double Magnitudes::presumed_memory(int64_t features, int64_t rows, int bytes) const {
  return static_cast<double>(std::min(rows, capacity_for(features))) *
         static_cast<double>(features) * bytes;
}

void Magnitudes::observe(const session::StepView& view) {
  for (const auto& layer : *view.layers)
    observe_layer(layers_, failures_, layer.name, [&] { add_pass(layer); });
}

void Magnitudes::add_pass(const session::LayerView& view) {
  const torch::NoGradGuard no_grad;
  const auto dimension = view.features.size(1);
  auto found = layers_.find(view.name);
  if (found == layers_.end())
    found = layers_.emplace(view.name, Layer{{capacity_for(dimension), dimension}}).first;
  auto& layer = found->second;
  layer.kept.sample.update(view.features, view.mask, view.rows_per_group);
  const auto rows = view.mask.defined() ? view.features.index({view.mask}) : view.features;
  if (rows.numel() == 0) return;
  const auto largest = torch::maximum(rows.amax(0), -rows.amin(0));
  layer.largest = larger(layer.largest, largest.to(torch::kDouble));
}

void Magnitudes::emit(store::Snapshot& out) {
  emit_layers(layers_, failures_, name(), out, write);
}

void Magnitudes::write(const std::string& name, const Layer& layer, store::Snapshot& out) {
  if (!layer.largest.defined()) return;
  const auto largest = layer.largest.max().item<double>();
  const auto found =
      tensor::magnitudes(layer.kept.sample.rows(), layer.kept.sample.group_rows(), largest);
  const auto add = [&](const std::string& series, const tensor::Magnitude& magnitude) {
    if (std::isnan(magnitude.lower)) {
      add_scalar(out, series, name, magnitude.value);
    } else {
      add_scalar(out, series, name, magnitude.value, magnitude.lower, magnitude.upper);
    }
    out.scalars.back().n = static_cast<double>(found.rows);
    out.scalars.back().n_effective = static_cast<double>(found.groups);
    // Nothing is shared among values that are all 0, and nothing is lost of them.
    if (std::isnan(magnitude.value) && largest == 0)
      out.scalars.back().status = store::Status::kUndefined;
  };
  add_scalar(out, id::kLargest, name, largest);
  add_scalar(out,
             id::kDeadFeatures,
             name,
             static_cast<double>((layer.largest == 0).sum().item<int64_t>()));
  add(id::kMedianMagnitude, found.median);
  add(id::kHighMagnitude, found.p99);
  add(id::kChannelKurtosis, found.channel_kurtosis);
  add(id::kZeros, found.zeros);
  add(id::kLostE4m3, found.lost_e4m3);
  add(id::kLostE5m2, found.lost_e5m2);
  add(id::kLostMxfp8, found.lost_mxfp8);
}

void Magnitudes::emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) {
  // As many rows come together as one process would keep.
  for (auto& [name, layer] : layers_)
    layer.kept.sample.limit(capacity_for(layer.kept.dimension) / group.size());
  share_layers(group, layers_, failures_, state_of, layer_of, [](Layer& sum, const Layer& layer) {
    sum.kept.merge(layer.kept, capacity_for(sum.kept.dimension));
    if (layer.largest.defined()) sum.largest = larger(sum.largest, layer.largest);
  });
  emit(out);
}

tensor::State Magnitudes::state_of(const Layer& layer) {
  auto out = layer.kept.state();
  if (layer.largest.defined()) out.set(kLargest, layer.largest);
  return out;
}

Magnitudes::Layer Magnitudes::layer_of(const tensor::State& state) {
  Layer layer{LayerRows(state)};
  if (state.has(kLargest)) layer.largest = state.floating_tensor(kLargest, {layer.kept.dimension});
  return layer;
}

tensor::State Magnitudes::state() const {
  return layer_states(layers_, state_of);
}

void Magnitudes::load(const tensor::State& state) {
  failures_ = {};
  load_layers(state, layers_, layer_of);
}

}  // namespace kappascope::probes
