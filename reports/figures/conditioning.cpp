// SPDX-License-Identifier: Apache-2.0
// The condition numbers of many layers at a glance, and the intercept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reports/figures/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
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
