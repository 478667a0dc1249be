// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "kappascope/session/probe.h"
#include "probes/layer_rows.h"
#include "session/failures.h"

namespace kappascope::probes {

/// How many steps of gradient descent every tapped layer needs to learn, from rows of the window
/// (linalg/learning.h): learning/* per layer. At most 2 d of a layer's rows are kept, and 8,192,
/// but 1,024 where it is narrow. Cost: keeping them, and at emission 2 n d multiply-adds a
/// Lanczos step and column (tensor/learning.h); no d x d matrix.
class LearningTime final : public session::Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "learning"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  /// benchmarks/learning/cost.cpp on two cores of 2024: 0.05 s for 512 features, 1 s for 3,072.
  [[nodiscard]] double presumed_cost() const override { return 1.2e-7; }
  [[nodiscard]] double presumed_memory(int64_t features, int64_t rows, int bytes) const override;
  void observe(const session::StepView& view) override;
  void emit(store::Snapshot& out) override;
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override;
  [[nodiscard]] tensor::State state() const override;
  void load(const tensor::State& state) override;

 private:
  struct Layer {
    LayerRows kept;
    at::Tensor bias{};  // of the latest step; undefined without post-gating bias
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
