// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "kappascope/session/probe.h"
#include "probes/layer_rows.h"
#include "session/failures.h"

namespace kappascope::probes {

/// How large the features of every tapped layer are, how unevenly their channels share that, and
/// what 8-bit formats would keep (tensor/magnitudes.h): magnitude/* per layer, and features/dead.
/// The largest value and the channels that are always zero are those of all rows of the window, all
/// else of a sample of them: half a million values, of 128 rows at least. Cost: two passes over the
/// rows, and at emission a sort of the sample.
class Magnitudes final : public session::Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "magnitudes"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  /// A tenth of what learning times take: benchmarks/layer_probes.cpp (0.07 of it for 3,072
  /// features, 0.06 for 14,336).
  [[nodiscard]] double presumed_cost() const override { return 1.2e-8; }
  [[nodiscard]] double presumed_memory(int64_t features, int64_t rows, int bytes) const override;
  void observe(const session::StepView& view) override;
  void emit(store::Snapshot& out) override;
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override;
  [[nodiscard]] tensor::State state() const override;
  void load(const tensor::State& state) override;

 private:
  struct Layer {
    LayerRows kept;
    at::Tensor largest{};  // |phi| of all rows, [d], NaN where one is; undefined before the first
  };
  static int64_t capacity_for(int64_t dimension);
  void add_pass(const session::LayerView& view);
  static void write(const std::string& name, const Layer& layer, store::Snapshot& out);
  [[nodiscard]] static tensor::State state_of(const Layer& layer);
  [[nodiscard]] static Layer layer_of(const tensor::State& state);

  std::map<std::string, Layer> layers_;
  session::Failures failures_;  // of this window
};

}  // namespace kappascope::probes
