// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "kappascope/linalg/features/moments.h"
#include "kappascope/session/probe.h"
#include "kappascope/tensor/moments.h"
#include "session/failures.h"
#include "tensor/mean_cosine.h"

namespace kappascope::probes {

/// Mean and covariance of the post-gating features of every tapped layer over a window, and from
/// them the condition numbers κ(Σ), κ(Σ+μμᵀ), κ(Σ+(μ+b)(μ+b)ᵀ) (PGB, Proposition 1), plain and
/// after diagonal scaling, with intervals, the ranks and the mean cosine of two rows. Of a branch's
/// features isotropy and mean cosine, and where the front end gives W_d its condition number and
/// the isotropy of the layer's output. Writes kappa/* and features/* per layer. Cost: half a
/// product φᵀφ a step; at emission four eigendecompositions of order d_ff a layer (one with
/// vectors), or from d_ff = 1,024 on one factorisation (linalg/features/kappa.h). features/products
/// has the route as its status, and the products that it took.
class FeatureMoments final : public session::Probe {
 public:
  /// `outputs`: measure W_d and the layer's output too, where the front end gives W_d: two products
  /// of d_model, d_ff and d_ff, and its singular values.
  explicit FeatureMoments(linalg::MomentOptions options = {}, bool outputs = true)
      : options_(options), outputs_(outputs) {}

  [[nodiscard]] std::string_view name() const override { return "features"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  /// On one core of 2024: 0.25 s for 512 features, 6 s for 3,072.
  [[nodiscard]] double presumed_cost() const override { return 1e-6; }
  [[nodiscard]] bool works_on_device() const override { return false; }
  /// Sums of squares, in double.
  [[nodiscard]] double presumed_memory(int64_t features,
                                       int64_t /*rows*/,
                                       int /*bytes*/) const override {
    return 8 * static_cast<double>(features) * static_cast<double>(features);
  }
  void observe(const session::StepView& view) override;
  void emit(store::Snapshot& out) override;
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override;
  [[nodiscard]] tensor::State state() const override;
  void load(const tensor::State& state) override;

 private:
  struct Layer {
    tensor::MomentAccumulator moments;
    tensor::MeanCosine cosine{};
    tensor::MeanCosine branch_cosine{};  // of the last `branch` features
    at::Tensor bias{};                   // of the latest step; undefined without post-gating bias
    at::Tensor weight{};  // likewise, the model's own; undefined where nobody gave it
    int64_t branch = 0;
    at::Tensor largest{};  // [d_ff] magnitude of each feature so far
  };
  void add_pass(const session::LayerView& view);
  static void write(const std::string& name, Layer& layer, store::Snapshot& out);
  [[nodiscard]] static tensor::State state_of(const Layer& layer);
  [[nodiscard]] Layer layer_of(const tensor::State& state) const;

  linalg::MomentOptions options_;
  bool outputs_;
  std::map<std::string, Layer> layers_;
  session::Failures failures_;  // of this window
};

}  // namespace kappascope::probes
