// SPDX-License-Identifier: Apache-2.0
// The figures of the loss, the condition numbers and the intercept.
#include <array>
#include <utility>

#include "reports/figures/builders.h"

namespace kappascope::reports {

std::string block_kappa(const Arm& arm, const std::string& layer) {
  return arm.series(id::kKappaWithBias, layer).empty() ? id::kKappaSecondMoment
                                                       : id::kKappaWithBias;
}

Figure loss_and_kappa(const std::vector<Arm>& arms) {
  Figure figure{.id = "loss_and_kappa", .title = "Loss and conditioning, step by step"};
  figure.x.title = "step";
  figure.panels.push_back(
      {.title = "loss", .y = {.title = "loss", .may_log = true}, .height = 1.5});
  bool any_loss = false;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    any_loss |=
        add_series(figure, 0, series_of(arms, a, id::kLossTrain, "", "train"), Dash::kSolid, true);
    any_loss |= add_series(figure, 0, series_of(arms, a, id::kLossTest, "", "test"));
  }
  const auto layers = layers_of(arms, id::kKappas);
  for (const auto& layer : layers) {
    figure.panels.push_back(
        {.title = std::string(kBlockKappaTitle) + ", " + layer, .y = {.title = "κ", .log = true}});
    for (std::size_t a = 0; a < arms.size(); ++a) {
      add_series(figure,
                 figure.panels.size() - 1,
                 series_of(arms, a, block_kappa(arms[a], layer), layer, kBlockKappaTitle));
    }
  }
  figure.caption =
      "Loss, and below it on the same steps the condition number of the problem that the optimiser "
      "solves for each down-projection W_d: κ(Σ+(μ+b)(μ+b)ᵀ) where the layer has a "
      "post-gating bias b, κ(Σ+μμᵀ) where it has none; lower is easier.";
  if (!any_loss && layers.empty()) {
    figure.panels.clear();
    figure.missing = "No loss and no condition number was recorded.";
  } else if (layers.empty()) {
    figure.caption += " No condition number was recorded: the feature probe did not run.";
  }
  return figure;
}

Figure condition_numbers(const std::vector<Arm>& arms) {
  static constexpr std::array<std::pair<store::SeriesId, const char*>, 3> kKinds = {
      {{id::kKappaSigma, "κ(Σ)"},
       {id::kKappaSecondMoment, "κ(Σ+μμᵀ)"},
       {id::kKappaWithBias, "κ(Σ+(μ+b)(μ+b)ᵀ)"}}};
  Figure figure{.id = "condition_numbers",
                .title = "What the mean costs, and what the bias gives back"};
  figure.x.title = "step";
  figure.columns = kKinds.size();
  figure.share_rows = true;
  for (const auto& layer : layers_of(arms, id::kKappas)) {
    for (const auto& [name, label] : kKinds) {
      figure.panels.push_back({.title = layer + ": " + label, .y = {.title = "κ", .log = true}});
      for (std::size_t a = 0; a < arms.size(); ++a) {
        add_series(figure, figure.panels.size() - 1, series_of(arms, a, name, layer, label));
      }
    }
  }
  figure.caption = std::string("Condition numbers of the features that enter each W_d") +
                   (over_seeds(arms) ? ": " : ", with 95 % intervals as bands: ") +
                   "centred (left), with their mean (middle), and with the mean that remains after "
                   "the bias (right; as in the middle for an arm without a post-gating bias). The "
                   "panels of a row share a scale.";
  if (figure.panels.empty()) {
    figure.missing = "No condition number was recorded: the feature probe did not run.";
  }
  return figure;
}

Figure intercept_absorption(const std::vector<Arm>& arms) {
  Figure figure{.id = "intercept_absorption", .title = "How far training has used the bias"};
  figure.x.title = "step";
  figure.columns = 2;
  for (const auto& layer : layers_of(arms, id::kBias)) {
    const std::size_t at = figure.panels.size();
    figure.panels.push_back({.title = layer + ": cos(b, −μ)", .y = {.title = "cosine"}});
    figure.panels.push_back({.title = layer + ": ‖μ+b‖/‖μ‖", .y = {.title = "ratio"}});
    for (std::size_t a = 0; a < arms.size(); ++a) {
      add_series(figure, at, series_of(arms, a, id::kBiasCos, layer, "cos(b, −μ)"));
      add_series(figure, at + 1, series_of(arms, a, id::kBiasResidual, layer, "‖μ+b‖/‖μ‖"));
    }
    figure.lines.push_back({at, 1, "b points exactly against the mean"});
    figure.lines.push_back({at + 1, 1, "no bias"});
  }
  figure.caption =
      "Left: does b point against the feature mean (1: exactly, 0: at a right angle). Right: the "
      "length of the mean that remains after the bias, as a share of the mean (1: nothing "
      "absorbed, "
      "0: all).";
  if (figure.panels.empty()) figure.missing = "No arm has a post-gating bias to measure.";
  return figure;
}

}  // namespace kappascope::reports
