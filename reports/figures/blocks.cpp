// SPDX-License-Identifier: Apache-2.0
// How long layers take to learn, and what the mean of their features makes of it.
#include "reports/figures/builders.h"

namespace kappascope::reports {

Figure learning_layers(const std::vector<Arm>& arms) {
  Figure figure{.id = "learning_layers",
                .title = "How long every layer takes to learn",
                .topic = Topic::kLayers};
  add_layer_panels(figure, layers_of(arms, id::kLearning), {.title = "steps to 90 %", .log = true});
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    const auto& layer = figure.panels[panel].layer;
    for (std::size_t a = 0; a < arms.size(); ++a) {
      const auto block = block_steps(arms[a], layer);
      add_series(figure, panel, series_of(arms, a, block, layer, kBlockStepsTitle));
      add_series(figure,
                 panel,
                 series_of(arms, a, id::kLearningSigma, layer, "without the mean"),
                 Dash::kDash);
      if (block == id::kLearningSecondMoment) continue;
      add_series(figure,
                 panel,
                 series_of(arms, a, id::kLearningSecondMoment, layer, "without b"),
                 Dash::kDot);
    }
  }
  figure.caption =
      "Steps of plain gradient descent, at the rate 1/λmax, until 90 % of what the variation of "
      "the layer's features can explain is learned: tr[Σ(1 − M/λmax)^2T] / tr Σ = 0.1, with M = "
      "Σ+(μ+b)(μ+b)ᵀ where the layer has a post-gating bias b, M = Σ+μμᵀ where it has none. "
      "Dashed: M = Σ, without the mean. Dotted: M = Σ+μμᵀ, without b. Lower is easier. All panels "
      "share a scale.";
  return figure;
}

Figure mean_costs(const std::vector<Arm>& arms) {
  Figure figure{
      .id = "mean_costs", .title = "What the mean costs, layer by layer", .topic = Topic::kMean};
  add_layer_panels(figure,
                   layers_of(arms, id::kLearningMeanCosts),
                   {.title = "times the steps", .may_log = true});
  bool any_bias = false;
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    const auto& layer = figure.panels[panel].layer;
    figure.lines.push_back({panel, 1, "no cost"});
    for (std::size_t a = 0; a < arms.size(); ++a) {
      add_series(
          figure, panel, series_of(arms, a, id::kLearningMeanCosts, layer, "what the mean costs"));
      any_bias |=
          add_series(figure,
                     panel,
                     series_of(arms, a, id::kLearningBiasLeaves, layer, "what b leaves of it"),
                     Dash::kDash);
    }
  }
  figure.caption =
      "Steps to learn 90 % with the mean of the features, Σ+μμᵀ, over those without it, Σ; lower "
      "is easier. The intervals are of the quotient itself. All panels share a scale.";
  if (any_bias)
    figure.caption += " Dashed: the same of Σ+(μ+b)(μ+b)ᵀ, what the bias b leaves of the cost.";
  return figure;
}

}  // namespace kappascope::reports
