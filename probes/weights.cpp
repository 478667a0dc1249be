// SPDX-License-Identifier: Apache-2.0
#include "tensor/weights.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "kappascope/core/statistics.h"
#include "probes/layer_probes.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"
#include "tensor/weight_changes.h"

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

struct WeighedLayer {
  at::Tensor down{}, gate{}, up{};  // the model's own; the next pass brings them to a read one
  tensor::WeightChanges down_moved{}, gate_moved{}, up_moved{};

  WeighedLayer() = default;
  explicit WeighedLayer(const tensor::State& state) {
    down_moved.load(state.inner("down"));
    gate_moved.load(state.inner("gate"));
    up_moved.load(state.inner("up"));
  }

  [[nodiscard]] tensor::State state() const {
    tensor::State out;
    out.set("down", down_moved.state());
    out.set("gate", gate_moved.state());
    out.set("up", up_moved.state());
    return out;
  }

  [[nodiscard]] bool is_gone() const {
    return (down.defined() && !is_there(down)) || (gate.defined() && !is_there(gate)) ||
           (up.defined() && !is_there(up));
  }

  void write(const std::string& name, store::Snapshot& out) const {
    add_norm(out, name, id::kDownNorm, id::kDownStableRank, down);
    add_norm(out, name, id::kGateNorm, id::kGateStableRank, gate);
    add_norm(out, name, id::kUpNorm, id::kUpStableRank, up);
    add_update(out, name, id::kDownUpdate, down_moved);
    add_update(out, name, id::kGateUpdate, gate_moved);
    add_update(out, name, id::kUpUpdate, up_moved);
    const std::array matrices = {&down_moved, &gate_moved, &up_moved};
    add_unchanged(out, name, matrices);
    if (!is_there(gate) || !is_there(up)) return;
    const auto found = tensor::alignment(gate, up);
    add_scalar(out, id::kAlignment, name, found.median);
    add_scalar(out, id::kLargestAlignment, name, found.largest);
  }
};

/// Norms and stable ranks of W_d, W_gate and W_up of every tapped layer, and how far the channels
/// of the last two are aligned (tensor/weights.h), as the window's last pass had them; and how far
/// the window's updates moved them (tensor/weight_changes.h): weight/* per layer, as far as the
/// front end gives the weights and they are still whole when the window ends (sharded ones are not,
/// of which the first window tells). Cost: some forty products of each matrix with a vector.
class Weights final : public LayerWindows<WeighedLayer> {
 public:
  [[nodiscard]] std::string_view name() const override { return "weights"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  /// Half of what learning times take: benchmarks/layer_probes.cpp (0.28 of it for 3,072 features,
  /// 0.49 for 14,336).
  [[nodiscard]] double presumed_cost() const override { return 6e-8; }
  [[nodiscard]] double presumed_memory(std::int64_t /*features*/,
                                       std::int64_t /*rows*/,
                                       int /*bytes*/) const override {
    constexpr double kMatrices = 3, kNumbers = 4 * sizeof(double);
    return kMatrices * kNumbers * static_cast<double>(tensor::WeightChanges::kEntries);
  }

  void emit(store::Snapshot& out) override {
    for (const auto& [name, layer] : layers()) {
      if (!layer.is_gone() || std::exchange(sharded_reported_, true)) continue;
      out.events.push_back(
          {"note",
           fmt::format("weights that are whole in a pass alone are not measured: {}", name)});
    }
    LayerWindows::emit(out);
  }

  /// The weights are the same in every process: those that hold a layer take turns.
  void emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) override {
    std::set<std::string> mine;
    for (const auto& [name, layer] : layers()) mine.insert(held_by(group.rank(), name));
    std::map<std::string, std::vector<int>> holders;
    for (const auto& held : group.all_names(mine)) {
      const auto space = held.find(' ');
      holders[held.substr(space + 1)].push_back(std::atoi(held.c_str()));
    }
    std::size_t turn = 0;
    for (const auto& [name, ranks] : holders)
      if (ranks[turn++ % ranks.size()] != group.rank()) layers().erase(name);
    emit(out);
  }

 private:
  void add_pass(int64_t step, const session::LayerView& view) override {
    if (!view.weight.defined() && !view.gate.defined() && !view.up.defined()) return;
    auto& layer = layers().try_emplace(view.name).first->second;
    layer.down = view.weight;
    layer.gate = view.gate;
    layer.up = view.up;
    if (is_there(layer.down)) layer.down_moved.observe(step, layer.down);
    if (is_there(layer.gate)) layer.gate_moved.observe(step, layer.gate);
    if (is_there(layer.up)) layer.up_moved.observe(step, layer.up);
  }

  bool sharded_reported_ = false;
};

}  // namespace

std::unique_ptr<session::Probe> make_weights(const ProbeOptions& /*options*/) {
  return std::make_unique<Weights>();
}

}  // namespace kappascope::probes
