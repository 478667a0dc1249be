// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "kappascope/session/probe.h"
#include "session/failures.h"
#include "tensor/weight_changes.h"

namespace kappascope::probes {

/// Norms and stable ranks of W_d, W_gate and W_up of every tapped layer, and how far the channels
/// of the last two are aligned (tensor/weights.h), as the window's last pass had them; and how far
/// the window's updates moved them (tensor/weight_changes.h): weight/* per layer, as far as the
/// front end gives the weights and they are still whole when the window ends (sharded ones are not,
/// of which the first window tells). Cost: some forty products of each matrix with a vector.
class Weights final : public session::Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "weights"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  /// Half of what learning times take: benchmarks/layer_probes.cpp (0.28 of it for 3,072 features,
  /// 0.49 for 14,336).
  [[nodiscard]] double presumed_cost() const override { return 6e-8; }
  [[nodiscard]] double presumed_memory(std::int64_t features,
                                       std::int64_t rows,
                                       int bytes) const override;
  void observe(const session::StepView& view) override;
  void emit(store::Snapshot& out) override;
  /// The weights are the same in every process.
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override;
  [[nodiscard]] tensor::State state() const override;
  void load(const tensor::State& state) override;

 private:
  struct Layer {
    at::Tensor down{}, gate{}, up{};  // the model's own
    tensor::WeightChanges down_moved{}, gate_moved{}, up_moved{};
  };
  static void write(const std::string& name, const Layer& layer, store::Snapshot& out);

  std::map<std::string, Layer> layers_;
  session::Failures failures_;  // of this window
  bool sharded_reported_ = false;
};

}  // namespace kappascope::probes
