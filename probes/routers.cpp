// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/require.h"
#include "kappascope/tensor/routing.h"
#include "probes/layer_probes.h"
#include "probes/layer_windows.h"
#include "probes/sequence_scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

struct RoutedLayer {
  std::int64_t experts = 0;
  std::int64_t chosen = 0;  // 0: the router does not choose, or how many is not known
  at::Tensor sequences{};   // [n, 4], as tensor::summarise has them, of all passes of the window

  explicit RoutedLayer(const tensor::Routing& routing)
      : experts(routing.logits.size(-1)),
        chosen(routing.chooses() ? routing.chosen : 0),
        sequences(tensor::summarise(routing)) {}
  explicit RoutedLayer(const tensor::State& state)
      : experts(state.integer("experts")),
        chosen(state.integer("chosen")),
        sequences(state.tensor("sequences", torch::kDouble, {-1, 4})) {}

  [[nodiscard]] tensor::State state() const {
    tensor::State out;
    out.set("experts", experts);
    out.set("chosen", chosen);
    out.set("sequences", sequences);
    return out;
  }

  void merge(const RoutedLayer& other) {
    require(experts == other.experts && chosen == other.chosen,
            "a router of {} experts, of which it chooses {}, has {} and {} in a later pass",
            experts,
            chosen,
            other.experts,
            other.chosen);
    sequences = torch::cat({sequences, other.sequences});
  }

  void write(const std::string& name, store::Snapshot& out) const {
    const auto counting = sequences.index({sequences.select(1, 0) > 0});
    const auto tokens = counting.select(1, 0);
    const auto add = [&](const store::SeriesId& series, std::int64_t column, auto add_to) {
      add_to(series, counting.select(1, column));
      out.scalars.back().n = tokens.sum().item<double>();
    };
    const auto mean = [&](const store::SeriesId& series, const at::Tensor& sums) {
      add_mean(out, series, name, sums / tokens);
    };
    add(id::kRouterEntropy, 1, mean);
    if (chosen == 0) return;
    add(id::kRouterMargin, 2, mean);
    add(id::kRouterClose, 3, [&](const store::SeriesId& series, const at::Tensor& hits) {
      add_share(out, series, name, hits, tokens);
    });
  }
};

/// How evenly and how surely the routers that the front end sees send tokens to experts, from a
/// sample of the rows of each pass (tensor/routing.h): router/* per router, with 95 % over
/// sequences. A router whose logits are all NaN says so. Cost: a product of at most 256 rows of
/// each pass with the router's weight, in the pass, and some passes over their logits.
class Routers final : public LayerWindows<RoutedLayer> {
 public:
  [[nodiscard]] std::string_view name() const override { return "routers"; }
  [[nodiscard]] session::Needs needs() const override { return {.routers = true}; }
  void observe(const session::StepView& view) override {
    if (view.routers == nullptr) return;
    for (const auto& router : *view.routers)
      attempt(router.name, [&] {
        const RoutedLayer pass(router.input);
        const auto [layer, first] = layers().try_emplace(router.name, pass);
        if (!first) layer->second.merge(pass);
      });
  }
};

}  // namespace

std::unique_ptr<session::Probe> make_routers(const ProbeOptions& /*options*/) {
  return std::make_unique<Routers>();
}

}  // namespace kappascope::probes
