// SPDX-License-Identifier: Apache-2.0
// The figures of the loss, the condition numbers and the intercept.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "reports/diagnosis/questions.h"
#include "reports/figures/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

void add_block_kappas(Figure& figure,
                      std::size_t panel,
                      const std::vector<Arm>& arms,
                      const std::string& layer) {
  for (std::size_t a = 0; a < arms.size(); ++a) {
    add_series(
        figure, panel, series_of(arms, a, block_kappa(arms[a], layer), layer, kBlockKappaTitle));
  }
}

}  // namespace

std::string block_kappa(const Arm& arm, const std::string& layer) {
  return arm.series(id::kKappaWithBias, layer).empty() ? id::kKappaSecondMoment
                                                       : id::kKappaWithBias;
}

std::string block_steps(const Arm& arm, const std::string& layer) {
  return arm.series(id::kLearningWithBias, layer).empty() ? id::kLearningSecondMoment
                                                          : id::kLearningWithBias;
}

Figure kappa_layers(const std::vector<Arm>& arms) {
  Figure figure{.id = "kappa_layers", .title = "κ of every layer", .topic = Topic::kLayers};
  add_layer_panels(figure, layers_of(arms, id::kKappas), {.title = "κ", .log = true});
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel)
    add_block_kappas(figure, panel, arms, figure.panels[panel].layer);
  figure.caption =
      "The condition number of the W_d block: κ(Σ+(μ+b)(μ+b)ᵀ) where the layer has a post-gating "
      "bias b, κ(Σ+μμᵀ) where it has none. All panels share a scale.";
  return figure;
}

Figure kappa_map(const std::vector<Arm>& arms) {
  Figure figure{
      .id = "kappa_map", .title = "κ of every layer at a glance", .topic = Topic::kLayers};
  const auto layers = layers_of(arms, id::kKappas);
  if (layers.size() <= kManyLayers) return figure;
  figure.x.title = "step";
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    Axis rows{.title = "layer", .categories = true};
    const auto row_of = [&](std::size_t l) { return static_cast<double>(layers.size() - 1 - l); };
    for (std::size_t l = 0; l < layers.size(); ++l) rows.ticks.push_back({row_of(l), layers[l]});
    figure.panels.push_back(
        {.title = arms[a].label, .y = rows, .height = 0.1 * static_cast<double>(layers.size())});
    for (std::size_t l = 0; l < layers.size(); ++l) {
      auto cells = series_of(arms, a, block_kappa(arms[a], layers[l]), layers[l], kBlockKappaTitle);
      if (!cells) continue;
      cells->draw = Draw::kCells;
      cells->panel = a;
      cells->shown = cells->y;
      cells->lower.clear();
      cells->upper.clear();
      for (const double v : cells->shown) {
        if (!(v > 0) || !std::isfinite(v)) continue;
        low = std::min(low, v);
        high = std::max(high, v);
      }
      const auto& x = cells->x;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double before = i > 0 ? x[i] - x[i - 1] : 1;
        cells->until.push_back(i + 1 < x.size() ? x[i + 1] : x[i] + before);
      }
      std::fill(cells->y.begin(), cells->y.end(), row_of(l));  // the first on top
      figure.series.push_back(std::move(*cells));
    }
  }
  if (!(high > 0)) low = high = 1;
  const double decades = std::max(1e-9, std::log10(high / low));
  for (Series& cells : figure.series) {
    for (const double v : cells.shown)
      cells.shade.push_back(std::isnan(v) ? 0
                            : v >= high   ? 1
                                          : std::max(0.0, std::log10(v / low)) / decades);
  }
  figure.caption = fmt::format(
      "One row a layer: the darker, the worse conditioned its W_d block, from κ = {} to {} on a "
      "logarithmic scale. Click a row to draw its layer in the figures below.",
      words(low),
      words(high));
  return figure;
}

Figure condition_numbers(const std::vector<Arm>& arms) {
  static constexpr std::array<std::pair<store::SeriesId, const char*>, 3> kKinds = {
      {{id::kKappaSigma, "κ(Σ)"},
       {id::kKappaSecondMoment, "κ(Σ+μμᵀ)"},
       {id::kKappaWithBias, "κ(Σ+(μ+b)(μ+b)ᵀ)"}}};
  Figure figure{.id = "condition_numbers",
                .title = "What the mean costs, and what the bias gives back",
                .topic = Topic::kMean};
  figure.x.title = "step";
  const bool biased =
      std::ranges::any_of(arms, [](const Arm& arm) { return arm.has(id::kKappaWithBias); });
  figure.columns = biased ? kKinds.size() : kKinds.size() - 1;
  figure.share_rows = true;
  for (const auto& layer : layers_of(arms, id::kKappas)) {
    for (const auto& [name, label] : std::span(kKinds).first(figure.columns)) {
      figure.panels.push_back(
          {.title = layer + ": " + label, .layer = layer, .y = {.title = "κ", .log = true}});
      for (std::size_t a = 0; a < arms.size(); ++a) {
        add_series(figure, figure.panels.size() - 1, series_of(arms, a, name, layer, label));
      }
    }
  }
  figure.caption = std::string("Condition numbers of the features that enter each W_d") +
                   (over_seeds(arms) ? ": " : ", with 95 % intervals as bands: ") +
                   "centred (left), with their mean" +
                   (biased ? " (middle), and with the mean that remains after the bias (right; as "
                             "in the middle for an arm without a post-gating bias)"
                           : " (right)") +
                   ". The panels of a row share a scale.";
  if (figure.panels.empty()) {
    figure.missing = "No condition number was recorded: the feature probe did not run.";
  }
  return figure;
}

Figure intercept_absorption(const std::vector<Arm>& arms) {
  Figure figure{.id = "intercept_absorption",
                .title = "How far training has used the bias",
                .topic = Topic::kMean};
  figure.x.title = "step";
  figure.columns = 2;
  for (const auto& layer : layers_of(arms, id::kBias)) {
    const std::size_t at = figure.panels.size();
    figure.panels.push_back(
        {.title = layer + ": cos(b, −μ)", .layer = layer, .y = {.title = "cosine"}});
    figure.panels.push_back(
        {.title = layer + ": ‖μ+b‖/‖μ‖", .layer = layer, .y = {.title = "ratio"}});
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
