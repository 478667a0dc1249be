// SPDX-License-Identifier: Apache-2.0
#include "probes/learning_time.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "kappascope/tensor/learning.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

void add_steps(store::Snapshot& out,
               const std::string& name,
               const std::string& layer,
               const linalg::StepsEstimate& steps,
               const linalg::Learning& found) {
  add_scalar(out, name, layer, steps.value, steps.lower, steps.upper);
  auto& scalar = out.scalars.back();
  scalar.n = static_cast<double>(found.rows);
  scalar.n_effective = static_cast<double>(found.groups);
  scalar.status = stored_status(steps.resolution);
}

}  // namespace

int64_t LearningTime::capacity_for(int64_t dimension) {
  constexpr int64_t kNarrow = 1024, kWide = 8192;
  return std::clamp(2 * dimension, kNarrow, kWide);
}

double LearningTime::presumed_memory(int64_t features, int64_t rows, int bytes) const {
  return static_cast<double>(std::min(rows, capacity_for(features))) *
         static_cast<double>(features) * bytes;
}

void LearningTime::observe(const session::StepView& view) {
  for (const auto& layer : *view.layers)
    observe_layer(layers_, failures_, layer.name, [&] { add_pass(layer); });
}

void LearningTime::add_pass(const session::LayerView& view) {
  const auto dimension = view.features.size(1);
  auto found = layers_.find(view.name);
  if (found == layers_.end())
    found = layers_.emplace(view.name, Layer{{capacity_for(dimension), dimension}}).first;
  auto& layer = found->second;
  layer.kept.sample.update(view.features, view.mask, view.rows_per_group);
  layer.bias = view.bias.defined() ? view.bias.clone() : at::Tensor();
}

void LearningTime::emit(store::Snapshot& out) {
  emit_layers(layers_, failures_, name(), out, write);
}

void LearningTime::write(const std::string& name, const Layer& layer, store::Snapshot& out) {
  const auto& sample = layer.kept.sample;
  if (sample.kept() == 0) return;
  const auto& bias = layer.bias;
  const auto found = tensor::learning(sample.rows(), sample.group_rows(), bias);
  add_steps(out, id::kLearningSigma, name, found.sigma.ninety, found);
  add_steps(out, id::kLearningSigmaHalf, name, found.sigma.half, found);
  add_steps(out, id::kLearningSecondMoment, name, found.second_moment.ninety, found);
  add_steps(out, id::kLearningSecondMomentHalf, name, found.second_moment.half, found);
  add_ratio(out, id::kLearningMeanCosts, name, found.mean_costs);
  add_scalar(out, id::kLayerWidth, name, static_cast<double>(layer.kept.dimension));
  if (!bias.defined()) return;
  add_steps(out, id::kLearningWithBias, name, found.with_bias.ninety, found);
  add_steps(out, id::kLearningWithBiasHalf, name, found.with_bias.half, found);
  add_ratio(out, id::kLearningBiasLeaves, name, found.bias_leaves);
  add_ratio(out, id::kLearningBiasChanges, name, found.bias_changes);
}

void LearningTime::emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) {
  // As many rows come together as one process would keep.
  for (auto& [name, layer] : layers_)
    layer.kept.sample.limit(capacity_for(layer.kept.dimension) / group.size());
  share_layers(group, layers_, failures_, state_of, layer_of, [](Layer& sum, const Layer& layer) {
    sum.kept.merge(layer.kept, capacity_for(sum.kept.dimension));
  });
  emit(out);
}

tensor::State LearningTime::state_of(const Layer& layer) {
  auto out = layer.kept.state();
  if (layer.bias.defined()) out.set("bias", layer.bias);
  return out;
}

LearningTime::Layer LearningTime::layer_of(const tensor::State& state) {
  Layer layer{LayerRows(state)};
  if (state.has("bias")) layer.bias = state.floating_tensor("bias", {layer.kept.dimension});
  return layer;
}

tensor::State LearningTime::state() const {
  return layer_states(layers_, state_of);
}

void LearningTime::load(const tensor::State& state) {
  failures_ = {};
  load_layers(state, layers_, layer_of);
}

}  // namespace kappascope::probes
