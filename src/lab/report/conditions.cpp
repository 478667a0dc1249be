// SPDX-License-Identifier: Apache-2.0
// The arms over steps, condition by condition.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "lab/report/builders.h"
#include "reports/figures/builders.h"
#include "reports/runs/median_arm.h"

namespace kappascope::reports {
namespace {

/// So many conditions are drawn in full.
constexpr std::size_t kInFull = 3;

std::string smoothing_in_words(const std::vector<Arm>& arms) {
  std::size_t window = 1;
  for (const Arm& arm : arms) {
    window = std::max(window, smoothing_window(arm.series(id::kLossTrain).size()));
  }
  return window == 1
             ? ""
             : fmt::format(" The training loss (faint) is a running median of {} steps.", window);
}

/// What a reader must know of a figure whose arms are medians over seeds.
std::string how_made(const Figure& figure, const std::vector<Arm>& arms) {
  if (figure.id == "hessian_density" || figure.id.rfind("spectrum_", 0) == 0)
    return " Of the first seed of each arm alone: this is not averaged.";
  std::string words = " Every arm is shown as " + seeds_in_words(arms) + ".";
  if (figure.id == "overview") words += smoothing_in_words(arms);
  return words;
}

std::vector<Figure> in_full(const StudyView& study, std::size_t condition) {
  const auto arms = median_arms(study, study.conditions[condition]);
  auto figures = draft_figures(arms);
  std::erase_if(figures, [](const Figure& figure) { return figure.panels.empty(); });
  for (Figure& figure : figures) {
    figure.caption += how_made(figure, arms);
    // The band is what the seeds did: an axis that cuts it would hide how far they lie apart.
    for (Panel& panel : figure.panels) panel.y.whole_bounds = true;
    figure.hollow = "not resolved, or not there in every seed";
  }
  if (auto figure = around_spikes(study, study.conditions[condition]))
    figures.push_back(std::move(*figure));
  for (Figure& figure : figures) {
    if (study.conditions.size() == 1) continue;
    figure.id = fmt::format("c{}_{}", condition + 1, figure.id);
    figure.title = study.conditions[condition] + ": " + figure.title;
  }
  return figures;
}

std::size_t columns_for(std::size_t panels) {
  return panels <= 4 ? 2 : panels <= 9 ? 3 : 4;
}

Figure loss_by_condition(const StudyView& study) {
  Figure figure{.id = "loss_by_condition", .title = "Loss, condition by condition"};
  figure.x.title = "step";
  figure.columns = columns_for(study.conditions.size());
  figure.share_panels = true;
  figure.hollow = "not there in every seed";
  std::vector<Arm> all;
  for (std::size_t c = 0; c < study.conditions.size(); ++c) {
    auto arms = median_arms(study, study.conditions[c]);
    figure.panels.push_back({.title = study.conditions[c],
                             .y = {.title = "loss", .may_log = true, .whole_bounds = true}});
    for (std::size_t a = 0; a < arms.size(); ++a) {
      add_series(figure, c, series_of(arms, a, id::kLossTrain, "", "train"), Dash::kSolid, true);
      add_series(figure, c, series_of(arms, a, id::kLossTest, "", "test"));
    }
    std::ranges::move(arms, std::back_inserter(all));
  }
  figure.caption = "How the loss falls under each condition, on one scale. Every arm is shown as " +
                   seeds_in_words(all) + "." + smoothing_in_words(all);
  if (figure.series.empty()) figure.panels.clear();
  return figure;
}

}  // namespace

std::vector<Arm> median_arms(const StudyView& study, const std::string& condition) {
  std::vector<std::vector<Arm>> runs;
  std::size_t longest = 0;
  for (const auto& label : study.arms) {
    std::vector<std::filesystem::path> dirs;
    for (const auto* run : study.runs_of(label, condition)) {
      if (run->state != "failed") dirs.push_back(run->dir);
    }
    runs.push_back(dirs.empty() ? std::vector<Arm>() : read_arms(dirs));
    for (const Arm& run : runs.back())
      longest = std::max(longest, run.series(id::kLossTrain).size());
  }
  std::vector<Arm> arms;
  for (std::size_t a = 0; a < runs.size(); ++a) {
    arms.push_back(median_arm(study.arms[a], runs[a], smoothing_window(longest)));
  }
  return arms;
}

std::vector<Figure> study_figures(const StudyView& study) {
  if (study.conditions.size() > kInFull) {
    Figure figure = loss_by_condition(study);
    if (figure.panels.empty()) return {};
    return {std::move(figure)};
  }
  std::vector<Figure> figures;
  for (std::size_t c = 0; c < study.conditions.size(); ++c) {
    std::ranges::move(in_full(study, c), std::back_inserter(figures));
  }
  return figures;
}

}  // namespace kappascope::reports
