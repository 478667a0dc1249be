// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "kappascope/session/probe.h"
#include "session/failures.h"

namespace kappascope::probes {

/// Largest logits and entropies of the attention layers that the front end sees, from a sample of
/// their sequences and queries (tensor/attention.h): attention/* per layer. The largest of the
/// sample is a lower bound of the largest of all; entropies have 95 % over sequences. A layer
/// whose logits are NaN says so. Cost: a product of 64 queries with all keys, for four sequences.
class Attention final : public session::Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "attention"; }
  [[nodiscard]] session::Needs needs() const override { return {.attention = true}; }
  void observe(const session::StepView& view) override;
  void emit(store::Snapshot& out) override;
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override;
  [[nodiscard]] tensor::State state() const override;
  void load(const tensor::State& state) override;

 private:
  struct Layer {
    at::Tensor largest{};  // [heads]
    at::Tensor entropy{};  // [sequences, heads]
    void add(const at::Tensor& more_largest, const at::Tensor& more_entropy);
  };
  static void write(const std::string& name, const Layer& layer, store::Snapshot& out);
  static tensor::State state_of(const Layer& layer);
  static Layer layer_of(const tensor::State& state);

  std::map<std::string, Layer> layers_;
  session::Failures failures_;  // of this window
};

}  // namespace kappascope::probes
