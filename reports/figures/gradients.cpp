// SPDX-License-Identifier: Apache-2.0
// The figures of the gradient variance.
#include <array>
#include <limits>
#include <utility>

#include "reports/figures/builders.h"

namespace kappascope::reports {
namespace {

constexpr const char* kNothing =
    "No gradient variance was recorded: the gradient-variance probe did not run.";

}  // namespace

Figure gradient_variance(const std::vector<Arm>& arms) {
  struct Kind {
    store::SeriesId name;
    const char* label = "";
    Dash dash{};
  };
  static constexpr std::array<Kind, 3> kKinds = {
      {{id::kVarianceMeasured, "measured", Dash::kSolid},
       {id::kVarianceDerived, "derived for the dropout that ran", Dash::kDash},
       {id::kVariancePublished, "Lemma 2 as published", Dash::kDot}}};
  Figure figure{.id = "gradient_variance",
                .title = "Gradient variance: measured against Lemma 2",
                .topic = Topic::kDocuments};
  figure.x.title = "step";
  for (const auto& layer : layers_of(arms, id::kVarianceMeasured)) {
    figure.panels.push_back(
        {.title = layer, .layer = layer, .y = {.title = "variance", .log = true}});
    for (std::size_t a = 0; a < arms.size(); ++a) {
      for (const Kind& kind : kKinds) {
        add_series(figure,
                   figure.panels.size() - 1,
                   series_of(arms, a, kind.name, layer, kind.label),
                   kind.dash);
      }
    }
  }
  figure.caption =
      "Variance over single samples of the gradient of W_d, summed over the layer's rows and "
      "averaged "
      "over test directions";
  figure.caption += over_seeds(arms)
                        ? "."
                        : "; where a formula leaves the band of the measurement, its assumptions "
                          "do not hold there.";
  if (figure.panels.empty()) figure.missing = kNothing;
  return figure;
}

Figure variance_by_bias(const std::vector<Arm>& arms) {
  static constexpr std::array<std::pair<store::SeriesId, const char*>, 4> kChoices = {
      {{id::kVarianceBiasZero, "0"},
       {id::kVarianceBiasLearned, "learned"},
       {id::kVarianceBiasMinusMean, "−μ"},
       {id::kVarianceBiasMinimiser, "best"}}};
  Figure figure{.id = "variance_by_bias",
                .title = "How noisy the gradient is, by the choice of the bias",
                .topic = Topic::kMean};
  figure.x.title = "choice of b";
  figure.x.categories = true;
  for (std::size_t c = 0; c < kChoices.size(); ++c) {
    figure.x.ticks.push_back({static_cast<double>(c), kChoices[c].second});
  }
  const auto layers = layers_of(arms, id::kVarianceAtBias);
  figure.columns = std::min<std::size_t>(3, std::max<std::size_t>(1, layers.size()));
  for (const auto& layer : layers) {
    figure.panels.push_back(
        {.title = layer, .layer = layer, .y = {.title = "variance", .log = true}});
    for (std::size_t a = 0; a < arms.size(); ++a) {
      Series series{.arm = a,
                    .layer = layer,
                    .quantity = "measured",
                    .panel = figure.panels.size() - 1,
                    .draw = Draw::kPoints};
      for (std::size_t c = 0; c < kChoices.size(); ++c) {
        auto all = series_of(arms, a, kChoices[c].first, layer, "");
        if (!all) continue;
        // Arms side by side: the same place would hide one error bar behind the other.
        const double shift =
            (static_cast<double>(a) - static_cast<double>(arms.size() - 1) / 2) * 0.12;
        series.x.push_back(static_cast<double>(c) + shift);
        series.y.push_back(all->y.back());
        series.lower.push_back(all->lower.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                  : all->lower.back());
        series.upper.push_back(all->upper.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                  : all->upper.back());
        series.hollow.push_back(all->hollow.back());
        series.hover.push_back("step " + std::to_string(static_cast<long long>(all->x.back())) +
                               (all->hover.empty() ? "" : ", " + all->hover.back()));
      }
      if (!series.x.empty()) figure.series.push_back(std::move(series));
    }
  }
  figure.caption =
      "The gradient variance that each choice of b would give at the last snapshot, everything "
      "else "
      "frozen and with the same dropout masks";
  figure.caption += over_seeds(arms)
                        ? "; bars span what the seeds' intervals allow."
                        : "; bars are 95 % intervals of each value, and because the masks are "
                          "shared the differences are known better than the bars suggest.";
  if (figure.panels.empty()) figure.missing = kNothing;
  return figure;
}

}  // namespace kappascope::reports
