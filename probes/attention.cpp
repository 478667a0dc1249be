// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/attention.h"

#include <torch/types.h>

#include <cmath>
#include <memory>

#include "core/require.h"
#include "probes/layer_probes.h"
#include "probes/layer_windows.h"
#include "probes/sequence_scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

struct AttendedLayer {
  at::Tensor largest{};  // [heads]
  at::Tensor entropy{};  // [sequences, heads]

  explicit AttendedLayer(const tensor::AttentionSummary& found)
      : largest(found.largest.cpu()), entropy(found.entropy.cpu()) {}
  explicit AttendedLayer(const tensor::State& state)
      : largest(state.tensor("largest", torch::kDouble, {-1})),
        entropy(state.tensor("entropy", torch::kDouble, {-1, largest.numel()})) {}

  [[nodiscard]] tensor::State state() const {
    tensor::State out;
    out.set("largest", largest);
    out.set("entropy", entropy);
    return out;
  }

  void merge(const AttendedLayer& other) {
    require(largest.numel() == other.largest.numel(),
            "an attention layer of {} heads has {} in a later pass",
            largest.numel(),
            other.largest.numel());
    largest = larger(largest, other.largest);
    entropy = torch::cat({entropy, other.entropy});
  }

  void write(const std::string& name, store::Snapshot& out) const {
    add_scalar(out, id::kLargestLogit, name, largest.max().item<double>());
    add_mean(out, id::kAttentionEntropy, name, entropy.nanmean(1));
    const auto by_head = entropy.nanmean(0);
    add_scalar(out,
               id::kLowestEntropy,
               name,
               by_head.index({by_head.isfinite()}).numel() > 0
                   ? by_head.nan_to_num(1).min().item<double>()
                   : std::nan(""));
  }
};

/// Largest logits and entropies of the attention layers that the front end sees, from a sample of
/// their sequences and queries (tensor/attention.h): attention/* per layer. The largest of the
/// sample is a lower bound of the largest of all; entropies have 95 % over sequences. A layer
/// whose logits are NaN says so. Cost: a product of 64 queries with all keys, for four sequences.
class Attention final : public LayerWindows<AttendedLayer> {
 public:
  [[nodiscard]] std::string_view name() const override { return "attention"; }
  [[nodiscard]] session::Needs needs() const override { return {.attention = true}; }
  void observe(const session::StepView& view) override {
    if (view.attentions == nullptr) return;
    for (const auto& attention : *view.attentions)
      attempt(attention.name, [&] {
        const AttendedLayer pass(tensor::summarise(attention.input));
        const auto [layer, first] = layers().try_emplace(attention.name, pass);
        if (!first) layer->second.merge(pass);
      });
  }
};

}  // namespace

std::unique_ptr<session::Probe> make_attention(const ProbeOptions& /*options*/) {
  return std::make_unique<Attention>();
}

}  // namespace kappascope::probes
