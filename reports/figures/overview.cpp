// SPDX-License-Identifier: Apache-2.0
// The figure of the first screen: what happened, on one step axis.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "reports/diagnosis/questions.h"
#include "reports/figures/builders.h"

namespace kappascope::reports {
namespace {

constexpr double kLow = 0.6;             // height of what stands below the loss
constexpr std::size_t kMostLayers = 12;  // beside each other

/// The training losses are faint behind test losses.
bool add_losses(Figure& figure, const std::vector<Arm>& arms) {
  figure.panels.push_back({.title = "loss", .y = {.title = "loss", .may_log = true}});
  const bool tested =
      std::ranges::any_of(arms, [](const Arm& arm) { return !arm.series(id::kLossTest).empty(); });
  bool any = false;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    any |= add_series(
        figure, 0, series_of(arms, a, id::kLossTrain, "", "train"), Dash::kSolid, tested);
    any |= add_series(figure, 0, series_of(arms, a, id::kLossTest, "", "test"));
  }
  return any;
}

/// A panel with one series an arm, where any arm has it.
template <typename Of>
void add_panel(
    Figure& figure, const std::vector<Arm>& arms, Panel panel, const Of& of, bool faint = false) {
  const std::size_t place = figure.panels.size();
  bool any = false;
  for (std::size_t a = 0; a < arms.size(); ++a)
    any |= add_series(figure, place, of(a), Dash::kSolid, faint);
  if (any) figure.panels.push_back(std::move(panel));
}

/// What an arm's test losses are of the first arm's at the same steps.
std::optional<Series> loss_ratio(const std::vector<Arm>& arms, std::size_t a) {
  const Points& base = arms.front().series(id::kLossTest);
  Series series{.arm = a, .quantity = "test loss, relative"};
  for (const auto& [step, loss] : arms[a].series(id::kLossTest)) {
    const auto of_base = base.number_at(step);
    if (!of_base || !(of_base->scalar.value > 0)) continue;
    series.x.push_back(static_cast<double>(step));
    series.y.push_back(loss.value / of_base->scalar.value);
    series.hollow.push_back(0);
  }
  return series.x.size() < 2 ? std::nullopt : std::optional(std::move(series));
}

/// The arms against the first, where their losses may be compared: lines that hide each other above
/// are apart here.
void add_loss_ratios(Figure& figure, const std::vector<Arm>& arms) {
  const std::size_t place = figure.panels.size();
  add_panel(figure,
            arms,
            {.title = fmt::format("test loss over that of {}", arms.front().label),
             .y = {.title = "ratio"},
             .height = kLow},
            [&](std::size_t a) {
              return a == 0 || !same_problem(arms.front(), arms[a]) ? std::nullopt
                                                                    : loss_ratio(arms, a);
            });
  if (figure.panels.size() > place) figure.lines.push_back({place, 1, "equal"});
}

/// The first number of the other layers of a run, faint and without their intervals.
void add_other_layers(Figure& figure,
                      const std::vector<Arm>& arms,
                      const std::string& worst,
                      bool in_steps) {
  const Arm& arm = arms.front();
  const auto layers = in_steps ? layers_of(arm, id::kLearning) : layers_of(arm, id::kKappas);
  if (arms.size() > 1 || layers.size() > kMostLayers) return;
  for (const auto& layer : layers) {
    if (layer == worst) continue;
    auto series = in_steps ? series_of(arms, 0, block_steps(arm, layer), layer, kBlockStepsTitle)
                           : series_of(arms, 0, block_kappa(arm, layer), layer, kBlockKappaTitle);
    if (series) series->lower.clear(), series->upper.clear();
    add_series(figure, figure.panels.size(), std::move(series), Dash::kSolid, true);
  }
}

/// The first number of the layer that is worst at the end. Whether there is one.
bool add_worst_layer(Figure& figure, const std::vector<Arm>& arms) {
  const auto worst = worst_layers_of(arms);
  if (worst.empty()) return false;
  const std::string layer = worst.front().second.point->scalar.layer;
  const bool in_steps = worst.front().second.in_steps;
  const char* title = in_steps ? kBlockStepsTitle : kBlockKappaTitle;
  const std::size_t before = figure.series.size();
  add_other_layers(figure, arms, layer, in_steps);
  const bool others = figure.series.size() > before;
  add_panel(figure,
            arms,
            {.title = fmt::format("{}, {}{}", title, layer, others ? "; other layers faint" : ""),
             .y = {.title = in_steps ? "steps" : "κ", .log = true},
             .height = kLow},
            [&](std::size_t a) {
              const auto name =
                  in_steps ? block_steps(arms[a], layer) : block_kappa(arms[a], layer);
              return series_of(arms, a, name, layer, title);
            });
  figure.caption =
      in_steps
          ? "Loss, and below it on the same steps how many steps of plain gradient descent the "
            "slowest down-projection W_d would need to learn 90 % of what its features can "
            "represent; lower is easier."
          : "Loss, and below it on the same steps the condition number of the problem that the "
            "optimiser solves for the worst conditioned down-projection W_d; lower is easier.";
  return true;
}

/// Of layers a band is an interval over the data; of the sharpness, what its iteration leaves open.
std::string what_bands_are(const Figure& figure, bool over_seeds) {
  const auto any = [&](bool of_layers) {
    return std::ranges::any_of(figure.series, [&](const Series& one) {
      return !one.lower.empty() && one.layer.empty() != of_layers;
    });
  };
  const bool layers = any(true), sharpness = any(false);
  if (!layers && !sharpness) return "";
  if (over_seeds) return " Bands: lowest to highest that the seeds allow.";
  return fmt::format(" Bands: {}{}{}.",
                     layers ? "95 % intervals" : "",
                     layers && sharpness ? "; " : "",
                     sharpness ? "of the sharpness, bounds of the eigenvalue" : "");
}

bool changes_rate(const Arm& arm) {
  const auto& rates = arm.series(id::kLearningRate).values();
  return std::ranges::adjacent_find(rates, std::ranges::not_equal_to()) != rates.end();
}

}  // namespace

Figure overview(const std::vector<Arm>& arms, bool over_first) {
  Figure figure{.id = "overview", .title = "The training at a glance", .topic = Topic::kTraining};
  figure.x.title = "step";
  figure.caption = "Loss.";
  const bool any_loss = add_losses(figure, arms);
  if (over_first) add_loss_ratios(figure, arms);
  const bool any_layer = add_worst_layer(figure, arms);
  if (!any_loss && !any_layer) {
    figure.panels.clear();
    figure.missing = "No loss and no condition number was recorded.";
    return figure;
  }
  if (!any_layer)
    figure.caption += " No condition number was recorded: the features probe did not run.";
  const std::size_t before = figure.panels.size();
  add_panel(figure,
            arms,
            {.title = "sharpness over the optimiser's limit",
             .y = {.title = "share", .may_log = true},
             .height = kLow},
            [&](std::size_t a) { return share_of_limit(arms, a); });
  if (figure.panels.size() > before) figure.lines.push_back({before, 1, "the limit"});
  add_panel(
      figure,
      arms,
      {.title = "gradient norm", .y = {.title = "norm", .may_log = true}, .height = kLow},
      [&](std::size_t a) { return series_of(arms, a, id::kGradientNorm, "", "gradient norm"); },
      true);
  // The facts of the runs say a rate that stays as it is.
  if (std::ranges::any_of(arms, changes_rate)) {
    add_panel(
        figure,
        arms,
        {.title = "learning rate", .y = {.title = "rate"}, .height = kLow},
        [&](std::size_t a) { return series_of(arms, a, id::kLearningRate, "", "learning rate"); });
  }
  figure.caption += what_bands_are(figure, over_seeds(arms));
  figure.marks = event_marks(arms);
  const auto crosses = std::ranges::count_if(figure.marks, &StepMark::non_finite);
  const auto alarms = std::ssize(figure.marks) - crosses;
  if (alarms > 0) {
    std::set<std::string> names;
    for (const StepMark& mark : figure.marks)
      if (!mark.non_finite) names.insert(mark.alarms.begin(), mark.alarms.end());
    figure.caption +=
        fmt::format(" Triangles on the upper edge: steps that raised an alarm ({}: {}).",
                    alarms,
                    fmt::join(names, ", "));
  }
  if (crosses > 0)
    figure.caption += fmt::format(
        " Crosses: steps at which the loss or another number first became NaN or infinite ({}).",
        crosses);
  return figure;
}

}  // namespace kappascope::reports
