// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "kappascope/session/probe.h"
#include "session/failures.h"

namespace kappascope::probes {

/// Intercept absorption: how far training has used the post-gating bias b to cancel the mean μ of
/// the features. Writes per layer with a bias: bias/cos = cos(b, -μ), bias/residual = ‖μ+b‖/‖μ‖
/// (1 when b = 0, 0 when b = -μ), bias/norm = ‖b‖. NaN, with status "undefined", where b or μ is
/// zero. The 95 % interval carries the sampling error of μ, to first order; tokens of one sequence
/// count as dependent. Cost: two sums over the features a step.
class Intercept final : public session::Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "intercept"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  [[nodiscard]] double presumed_cost() const override { return 0; }
  void observe(const session::StepView& view) override;
  void emit(store::Snapshot& out) override;
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override;
  [[nodiscard]] tensor::State state() const override;
  void load(const tensor::State& state) override;

 private:
  struct Layer {
    int64_t rows = 0;
    int64_t groups = 0;      // sequences, or rows where rows are independent
    at::Tensor sum;          // [d_ff] double: Σ(φ-s)
    at::Tensor shift, bias;  // [d_ff] double
    // The gradients of both quantities with respect to μ lie in the span of b and μ, so the error
    // of μ is needed along these two only: over groups, Σ q and Σ q qᵀ with q the group's sum of
    // ((φ-s)·b, (φ-s)·s).
    at::Tensor projected, cross;  // [2], [2, 2] double
    at::Tensor spread = {};       // [2, 2] of that sum over several processes, until it is emitted
  };
  void add_pass(const session::LayerView& seen);
  static void write(const std::string& name, const Layer& layer, store::Snapshot& out);
  [[nodiscard]] static at::Tensor spread_of(const Layer& layer);
  [[nodiscard]] static tensor::State state_of(const Layer& layer);
  [[nodiscard]] static Layer layer_of(const tensor::State& inner);

  std::map<std::string, Layer> layers_;
  session::Failures failures_;  // of this window
};

}  // namespace kappascope::probes
