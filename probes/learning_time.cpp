// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include <algorithm>
#include <memory>

#include "kappascope/tensor/learning.h"
#include "probes/layer_probes.h"
#include "probes/layer_rows.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

void add_steps(store::Snapshot& out,
               const std::string& name,
               const std::string& layer,
               const linalg::StepsEstimate& steps,
               const linalg::Learning& found) {
  add_scalar(out, name, layer, steps.value, steps.lower, steps.upper);
  auto& scalar = out.scalars.back();
  scalar.n = static_cast<double>(found.rows);
  scalar.n_effective = static_cast<double>(found.groups);
  scalar.status = stored_status(steps.resolution);
}

struct LearningLayer {
  LayerRows kept;
  at::Tensor bias{};  // of the latest step; undefined without post-gating bias

  static int64_t most(int64_t features) {
    constexpr int64_t kNarrow = 1024, kWide = 8192;
    return std::clamp(2 * features, kNarrow, kWide);
  }

  explicit LearningLayer(int64_t features) : kept(most(features), features) {}
  explicit LearningLayer(const tensor::State& state) : kept(state) {
    if (state.has("bias")) bias = state.floating_tensor("bias", {kept.dimension});
  }

  [[nodiscard]] tensor::State state() const {
    auto out = kept.state();
    if (bias.defined()) out.set("bias", bias);
    return out;
  }

  void merge(const LearningLayer& other) { kept.merge(other.kept, most(kept.dimension)); }

  void write(const std::string& name, store::Snapshot& out) const {
    const auto& sample = kept.sample;
    if (sample.kept() == 0) return;
    const auto found = tensor::learning(sample.rows(), sample.group_rows(), bias);
    add_steps(out, id::kLearningSigma, name, found.sigma.ninety, found);
    add_steps(out, id::kLearningSigmaHalf, name, found.sigma.half, found);
    add_steps(out, id::kLearningSecondMoment, name, found.second_moment.ninety, found);
    add_steps(out, id::kLearningSecondMomentHalf, name, found.second_moment.half, found);
    add_ratio(out, id::kLearningMeanCosts, name, found.mean_costs);
    add_scalar(out, id::kLayerWidth, name, static_cast<double>(kept.dimension));
    if (!bias.defined()) return;
    add_steps(out, id::kLearningWithBias, name, found.with_bias.ninety, found);
    add_steps(out, id::kLearningWithBiasHalf, name, found.with_bias.half, found);
    add_ratio(out, id::kLearningBiasLeaves, name, found.bias_leaves);
    add_ratio(out, id::kLearningBiasChanges, name, found.bias_changes);
  }
};

/// How many steps of gradient descent every tapped layer needs to learn, from rows of the window
/// (linalg/learning.h): learning/* per layer. At most 2 d of a layer's rows are kept, and 8,192,
/// but 1,024 where it is narrow. Cost: keeping them, and at emission 2 n d multiply-adds a
/// Lanczos step and column (tensor/learning.h); no d x d matrix.
class LearningTime final : public RowWindows<LearningLayer> {
 public:
  [[nodiscard]] std::string_view name() const override { return "learning"; }
  /// benchmarks/learning/cost.cpp on two cores of 2024: 0.05 s for 512 features, 1 s for 3,072.
  [[nodiscard]] double presumed_cost() const override { return 1.2e-7; }

 private:
  void add_rows(const session::LayerView& view, LearningLayer& layer) override {
    layer.bias = view.bias.defined() ? view.bias.clone() : at::Tensor();
  }
};

}  // namespace

std::unique_ptr<session::Probe> make_learning(const ProbeOptions& /*options*/) {
  return std::make_unique<LearningTime>();
}

}  // namespace kappascope::probes
