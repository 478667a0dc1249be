// SPDX-License-Identifier: Apache-2.0
#include "tensor/gates.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/require.h"
#include "probes/layer_probes.h"
#include "probes/layer_windows.h"
#include "probes/sequence_scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

struct GateLayer {
  at::Tensor open;       // [d], as tensor::GateCounts has it
  at::Tensor sequences;  // [n, 3], of all passes of the window

  explicit GateLayer(tensor::GateCounts counts)
      : open(std::move(counts.open)), sequences(std::move(counts.sequences)) {}
  explicit GateLayer(const tensor::State& state)
      : open(state.tensor("open", torch::kDouble, {-1})),
        sequences(state.tensor("sequences", torch::kDouble, {-1, 3})) {}

  [[nodiscard]] tensor::State state() const {
    tensor::State out;
    out.set("open", open);
    out.set("sequences", sequences);
    return out;
  }

  void merge(const GateLayer& other) {
    require(open.numel() == other.open.numel(),
            "a layer of {} gates has {} in a later pass",
            open.numel(),
            other.open.numel());
    open = open + other.open;
    sequences = torch::cat({sequences, other.sequences});
  }

  void write(const std::string& name, store::Snapshot& out) const {
    const auto counting = sequences.index({sequences.select(1, 0) > 0});
    const double rows = counting.select(1, 0).sum().item<double>();
    const auto channels = [&](const std::string& series, double of) {
      const double found = (open == of).sum().item<double>();
      add_scalar(out, series, name, rows > 0 ? found : std::nan(""));
      out.scalars.back().n = rows;
    };
    channels(id::kGatesClosed, 0);
    channels(id::kGatesAlwaysOpen, rows);
    for (const auto& [series, column] : {std::pair(id::kGatesOpen, 1), {id::kGatesSaturated, 2}}) {
      add_share(out,
                series,
                name,
                counting.select(1, column),
                counting.select(1, 0) * static_cast<double>(open.numel()));
      out.scalars.back().n = rows;
    }
  }
};

/// How far the gates of every layer whose gate is seen are open (tensor/gates.h): gates/* per
/// layer, of a sample of the rows of each pass. A channel that is closed, or open, in all rows that
/// were looked at may be otherwise in others: of n independent rows fewer than 3/n of all (95 %).
/// Cost: some passes over at most 256 rows of each pass.
class Gates final : public LayerWindows<GateLayer> {
 public:
  [[nodiscard]] std::string_view name() const override { return "gates"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true, .gates = true}; }
  /// 0.4 of what magnitudes take: benchmarks/layer_probes.cpp (0.3 to 0.4 for 3,072 features, 0.4
  /// to 0.5 for 14,336).
  [[nodiscard]] double presumed_cost() const override { return 5e-9; }
  [[nodiscard]] double presumed_memory(int64_t features, int64_t rows, int bytes) const override {
    return static_cast<double>(std::min(rows, tensor::kGateRows)) * static_cast<double>(features) *
           bytes;
  }

 private:
  void add_pass(std::int64_t /*step*/, const session::LayerView& view) override {
    if (!view.gate_inputs.defined()) return;
    GateLayer pass(tensor::count_gates({view.gate_inputs, view.gate_mask}));
    const auto [layer, is_first] = layers().try_emplace(view.name, pass);
    if (!is_first) layer->second.merge(pass);
  }
};

}  // namespace

std::unique_ptr<session::Probe> make_gates(const ProbeOptions& /*options*/) {
  return std::make_unique<Gates>();
}

}  // namespace kappascope::probes
