// SPDX-License-Identifier: Apache-2.0
// What a layer's W_d block is worth, in steps and in condition numbers, and what the mean of its
// features costs: two figures of each number.
#include <array>
#include <utility>

#include "reports/figures/builders.h"

namespace kappascope::reports {
namespace {

/// A number of the three matrices of a layer, and its quotients.
struct BlockNumber {
  store::SeriesFamily family;
  store::SeriesId sigma, second_moment, with_bias;
  store::SeriesId mean_costs, bias_leaves;
  const char* title = "";
};

constexpr BlockNumber kSteps = {id::kLearning,
                                id::kLearningSigma,
                                id::kLearningSecondMoment,
                                id::kLearningWithBias,
                                id::kLearningMeanCosts,
                                id::kLearningBiasLeaves,
                                kBlockStepsTitle};
constexpr BlockNumber kKappa = {id::kKappas,
                                id::kKappaSigma,
                                id::kKappaSecondMoment,
                                id::kKappaWithBias,
                                id::kKappaMeanCosts,
                                id::kKappaBiasLeaves,
                                kBlockKappaTitle};

std::string block_of(const Arm& arm, const std::string& layer, const BlockNumber& number) {
  return arm.series(number.with_bias, layer).empty() ? number.second_moment : number.with_bias;
}

/// The number of each layer's block, dashed without the mean and dotted without b.
void add_blocks(Figure& figure,
                const std::vector<Arm>& arms,
                const BlockNumber& number,
                const char* unit) {
  add_layer_panels(figure, layers_of(arms, number.family), {.title = unit, .log = true});
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    const auto& layer = figure.panels[panel].layer;
    for (std::size_t a = 0; a < arms.size(); ++a) {
      const auto block = block_of(arms[a], layer, number);
      const auto add = [&](const std::string& name, const char* quantity, Dash dash) {
        add_series(figure, panel, series_of(arms, a, name, layer, quantity), dash);
      };
      add(block, number.title, Dash::kSolid);
      add(number.sigma, "without the mean", Dash::kDash);
      if (block == number.with_bias) add(number.second_moment, "without b", Dash::kDot);
    }
  }
}

/// The stored quotient with its interval; of a run that has none that of the values.
std::optional<Series> quotient(const std::vector<Arm>& arms,
                               std::size_t arm,
                               const std::string& layer,
                               const char* quantity,
                               const std::array<store::SeriesId, 3>& names) {
  const auto& [stored, above, below] = names;
  if (auto series = series_of(arms, arm, stored, layer, quantity)) return series;
  auto values = quotient_of(series_of(arms, arm, above, layer, quantity),
                            series_of(arms, arm, below, layer, ""));
  if (values) values->lower = values->upper = {};
  return values;
}

/// Each layer's number with the mean over that without it, and dashed what b leaves of it. Returns
/// whether there was a bias.
bool add_costs(Figure& figure,
               const std::vector<Arm>& arms,
               const BlockNumber& number,
               const char* unit) {
  add_layer_panels(figure, layers_of(arms, number.family), {.title = unit, .may_log = true});
  bool any_bias = false;
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    const auto& layer = figure.panels[panel].layer;
    figure.lines.push_back({panel, 1, "no cost"});
    for (std::size_t a = 0; a < arms.size(); ++a) {
      add_series(figure,
                 panel,
                 quotient(arms,
                          a,
                          layer,
                          "what the mean costs",
                          {number.mean_costs, number.second_moment, number.sigma}));
      any_bias |= add_series(figure,
                             panel,
                             quotient(arms,
                                      a,
                                      layer,
                                      "what b leaves of it",
                                      {number.bias_leaves, number.with_bias, number.sigma}),
                             Dash::kDash);
    }
  }
  return any_bias;
}

constexpr const char* kLeft =
    " Dashed: the same of Σ+(μ+b)(μ+b)ᵀ, what the bias b leaves of the cost.";

}  // namespace

std::string block_kappa(const Arm& arm, const std::string& layer) {
  return block_of(arm, layer, kKappa);
}

std::string block_steps(const Arm& arm, const std::string& layer) {
  return block_of(arm, layer, kSteps);
}

Figure learning_layers(const std::vector<Arm>& arms) {
  Figure figure{.id = "learning_layers",
                .title = "How long every layer takes to learn",
                .topic = Topic::kLayers};
  add_blocks(figure, arms, kSteps, "steps to 90 %");
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
  const bool any_bias = add_costs(figure, arms, kSteps, "times the steps");
  figure.caption =
      "Steps to learn 90 % with the mean of the features, Σ+μμᵀ, over those without it, Σ; lower "
      "is easier. The intervals are of the quotient itself. All panels share a scale.";
  if (any_bias) figure.caption += kLeft;
  return figure;
}

Figure kappa_layers(const std::vector<Arm>& arms) {
  Figure figure{.id = "kappa_layers", .title = "κ of every layer", .topic = Topic::kLayers};
  add_blocks(figure, arms, kKappa, "κ");
  figure.caption =
      "The condition number of the W_d block: κ(Σ+(μ+b)(μ+b)ᵀ) where the layer has a post-gating "
      "bias b, κ(Σ+μμᵀ) where it has none. Dashed: κ(Σ), without the mean. Dotted: κ(Σ+μμᵀ), "
      "without b. All panels share a scale.";
  if (figure.panels.empty())
    figure.missing = "No condition number was recorded: the feature probe did not run.";
  return figure;
}

Figure kappa_costs(const std::vector<Arm>& arms) {
  Figure figure{.id = "kappa_costs",
                .title = "What the mean costs in κ, layer by layer",
                .topic = Topic::kMean};
  const bool any_bias = add_costs(figure, arms, kKappa, "times κ");
  figure.caption =
      "The condition number with the mean of the features, κ(Σ+μμᵀ), over that without it, κ(Σ). "
      "The intervals are of the quotient itself. All panels share a scale.";
  if (any_bias) figure.caption += kLeft;
  return figure;
}

}  // namespace kappascope::reports
