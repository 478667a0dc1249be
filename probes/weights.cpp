// SPDX-License-Identifier: Apache-2.0
#include "probes/weights.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "kappascope/core/statistics.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"
#include "tensor/weights.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

/// Whether its memory is still there: weights that are sharded (FSDP) are whole in a pass alone,
/// and their storage is emptied afterwards.
bool is_there(const at::Tensor& matrix) {
  if (!matrix.defined()) return false;
  const auto last = matrix.storage_offset() + (matrix.size(0) - 1) * matrix.stride(0) +
                    (matrix.size(1) - 1) * matrix.stride(1);
  return matrix.storage().nbytes() >
         static_cast<std::size_t>(last) * static_cast<std::size_t>(matrix.element_size());
}

void add_norm(store::Snapshot& out,
              const std::string& layer,
              const std::string& norm,
              const std::string& stable_rank,
              const at::Tensor& matrix) {
  if (!is_there(matrix)) return;
  const auto found = tensor::spectral_norm(matrix);
  const auto finish = [&] {
    auto& scalar = out.scalars.back();
    if (scalar.status == store::Status::kOk)
      scalar.status = found.status == linalg::KrylovStatus::kConverged && !found.certified
                          ? store::Status(store::Status::kUncertified)
                          : stored_status(found.status);
  };
  add_scalar(out, norm, layer, found.value, found.lower, found.upper);
  finish();
  add_scalar(
      out, stable_rank, layer, found.stable_rank, found.stable_rank_lower, found.stable_rank_upper);
  finish();
}

void add_update(store::Snapshot& out,
                const std::string& layer,
                const std::string& series,
                const tensor::WeightChanges& moved) {
  if (moved.steps() == 0) return;
  const auto found = moved.ratio();
  if (std::isnan(found.lower)) {
    add_scalar(out, series, layer, found.value);
  } else {
    add_scalar(out, series, layer, found.value, found.lower, found.upper);
  }
}

/// The share of all their entries, over all steps, that an update left alone.
void add_unchanged(store::Snapshot& out,
                   const std::string& layer,
                   std::span<const tensor::WeightChanges* const> matrices) {
  std::vector<double> hits, of;
  for (const auto* matrix : matrices) {
    for (const double steps : matrix->unchanged()) {
      hits.push_back(steps);
      of.push_back(static_cast<double>(matrix->steps()));
    }
  }
  if (hits.empty()) return;
  const auto found = clustered_share(hits, of);
  add_scalar(out, id::kUnchanged, layer, found.share, found.interval.lower, found.interval.upper);
}

/// "00000003 layer": of what a process holds.
std::string held_by(int rank, const std::string& name) {
  return fmt::format("{:08} {}", rank, name);
}

}  // namespace

void Weights::observe(const session::StepView& view) {
  for (const auto& layer : *view.layers)
    observe_layer(layers_, failures_, layer.name, [&] {
      if (!layer.weight.defined() && !layer.gate.defined() && !layer.up.defined()) return;
      auto& held = layers_[layer.name];
      held.down = layer.weight;
      held.gate = layer.gate;
      held.up = layer.up;
      if (is_there(held.down)) held.down_moved.observe(view.step, held.down);
      if (is_there(held.gate)) held.gate_moved.observe(view.step, held.gate);
      if (is_there(held.up)) held.up_moved.observe(view.step, held.up);
    });
}

double Weights::presumed_memory(std::int64_t /*features*/,
                                std::int64_t /*rows*/,
                                int /*bytes*/) const {
  constexpr double kMatrices = 3, kNumbers = 4 * sizeof(double);
  return kMatrices * kNumbers * static_cast<double>(tensor::WeightChanges::kEntries);
}

void Weights::emit(store::Snapshot& out) {
  for (const auto& [name, layer] : layers_) {
    const bool gone = (layer.down.defined() && !is_there(layer.down)) ||
                      (layer.gate.defined() && !is_there(layer.gate)) ||
                      (layer.up.defined() && !is_there(layer.up));
    if (!gone || std::exchange(sharded_reported_, true)) continue;
    out.events.push_back(
        {"note", fmt::format("weights that are whole in a pass alone are not measured: {}", name)});
  }
  emit_layers(layers_, failures_, name(), out, write);
}

void Weights::write(const std::string& name, const Layer& layer, store::Snapshot& out) {
  add_norm(out, name, id::kDownNorm, id::kDownStableRank, layer.down);
  add_norm(out, name, id::kGateNorm, id::kGateStableRank, layer.gate);
  add_norm(out, name, id::kUpNorm, id::kUpStableRank, layer.up);
  add_update(out, name, id::kDownUpdate, layer.down_moved);
  add_update(out, name, id::kGateUpdate, layer.gate_moved);
  add_update(out, name, id::kUpUpdate, layer.up_moved);
  const std::array matrices = {&layer.down_moved, &layer.gate_moved, &layer.up_moved};
  add_unchanged(out, name, matrices);
  if (!is_there(layer.gate) || !is_there(layer.up)) return;
  const auto found = tensor::alignment(layer.gate, layer.up);
  add_scalar(out, id::kAlignment, name, found.median);
  add_scalar(out, id::kLargestAlignment, name, found.largest);
}

void Weights::emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) {
  std::set<std::string> mine;
  for (const auto& [name, layer] : layers_) mine.insert(held_by(group.rank(), name));
  std::map<std::string, std::vector<int>> holders;
  for (const auto& held : group.all_names(mine)) {
    const auto space = held.find(' ');
    holders[held.substr(space + 1)].push_back(std::atoi(held.c_str()));
  }
  // Those that hold a layer take turns.
  std::size_t turn = 0;
  for (const auto& [name, ranks] : holders)
    if (ranks[turn++ % ranks.size()] != group.rank()) layers_.erase(name);
  emit(out);
}

// The next pass brings the weights.
tensor::State Weights::state() const {
  return layer_states(layers_, [](const Layer& layer) {
    tensor::State inner;
    inner.set("down", layer.down_moved.state());
    inner.set("gate", layer.gate_moved.state());
    inner.set("up", layer.up_moved.state());
    return inner;
  });
}

void Weights::load(const tensor::State& state) {
  failures_ = {};
  load_layers(state, layers_, [](const tensor::State& inner) {
    Layer layer;
    layer.down_moved.load(inner.inner("down"));
    layer.gate_moved.load(inner.inner("gate"));
    layer.up_moved.load(inner.inner("up"));
    return layer;
  });
}

}  // namespace kappascope::probes
