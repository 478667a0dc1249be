// SPDX-License-Identifier: Apache-2.0
// What the loss and the conditioning do as the loss spikes, over all spikes of an arm.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "core/spikes.h"
#include "kappascope/core/statistics.h"
#include "lab/report/builders.h"
#include "reports/figures/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

constexpr std::int64_t kBefore = 50, kAfter = 100;  // steps around the begin of a spike
constexpr std::int64_t kApart = 10;  // measurements so close stand at one place of the figure

/// What is measured in layers beside the loss.
struct Quantity {
  store::SeriesId name;
  const char* key = "";
  const char* title = "";
};
constexpr std::array kQuantities = {
    Quantity{id::kKappaSigma, "κ(Σ)", "κ(Σ), median over layers"},
    Quantity{id::kEffectiveRank, "effective rank", "effective rank, median over layers"}};

/// What one place of the figure holds: a value a spike at most.
struct Place {
  std::vector<double> values{};
  bool resolved = true;
};

/// Places by the steps since a spike began.
using Aligned = std::map<std::int64_t, Place>;

struct Around {
  std::size_t spikes = 0;
  Aligned loss{};
  std::array<Aligned, kQuantities.size()> measured{};
};

struct Measured {
  double value = 0;
  bool resolved = true;
};

/// The median over layers by step, resolved where it is in every layer.
std::map<std::int64_t, Measured> over_layers(const Arm& run, const std::string& name) {
  std::map<std::int64_t, std::vector<double>> steps;
  std::set<std::int64_t> unresolved;
  const auto layers = layers_of(run, name);
  for (const auto& layer : layers) {
    for (const auto& [step, scalar] : run.series(name, layer)) {
      steps[step].push_back(scalar.value);
      if (!store::usable(scalar)) unresolved.insert(step);
    }
  }
  std::map<std::int64_t, Measured> medians;
  for (const auto& [step, values] : steps) {
    const bool whole = values.size() == layers.size() &&
                       std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
    if (whole) medians[step] = {median(values), !unresolved.contains(step)};
  }
  return medians;
}

/// One spike's measurements over the last before it, which lies `kBefore` steps back at most.
void add_measured(const std::map<std::int64_t, Measured>& series,
                  std::int64_t begin,
                  Aligned& out) {
  const auto after = series.lower_bound(begin);
  if (after == series.begin()) return;
  const auto [last, before] = *std::prev(after);
  if (begin - last > kBefore) return;
  std::map<std::int64_t, Measured> places;
  for (const auto& [step, now] : series) {
    const auto since = step - begin;
    if (since < -kBefore || since > kAfter) continue;
    // Downwards, so that what lies before the begin stays there.
    const auto tens = std::floor(static_cast<double>(since) / static_cast<double>(kApart));
    places[kApart * static_cast<std::int64_t>(tens)] = {now.value / before.value,
                                                        now.resolved && before.resolved};
  }
  for (const auto& [place, now] : places) {
    out[place].values.push_back(now.value);
    out[place].resolved = out[place].resolved && now.resolved;
  }
}

void add_run(const Arm& run, Around& out) {
  const auto& losses = run.series(id::kLossTrain);
  for (const auto& spike : run.spikes) {
    ++out.spikes;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const auto since = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(spike.begin);
      if (since >= -kBefore && since <= kAfter)
        out.loss[since].values.push_back(losses[i].scalar.value / spike.usual);
    }
    for (std::size_t q = 0; q < kQuantities.size(); ++q) {
      add_measured(
          over_layers(run, kQuantities.at(q).name), losses[spike.begin].step, out.measured.at(q));
    }
  }
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double position = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const auto high = std::min(low + 1, values.size() - 1);
  return std::lerp(values[low], values[high], position - static_cast<double>(low));
}

Series middle_of(const Aligned& aligned, std::size_t arm, std::size_t panel, const char* key) {
  Series series{.arm = arm, .quantity = key, .panel = panel};
  for (const auto& [since, place] : aligned) {
    series.x.push_back(static_cast<double>(since));
    series.y.push_back(median(place.values));
    series.lower.push_back(quantile(place.values, 0.25));
    series.upper.push_back(quantile(place.values, 0.75));
    series.hollow.push_back(place.resolved ? 0 : 1);
    series.hover.push_back(counted(place.values.size(), "spike"));
  }
  return series;
}

Around around_in(const std::vector<const study::RunEnd*>& runs) {
  std::vector<std::filesystem::path> dirs;
  for (const auto* run : runs) {
    if (run->state != "failed") dirs.push_back(run->dir);
  }
  Around around;
  if (dirs.empty()) return around;
  for (const Arm& run : read_arms(dirs)) add_run(run, around);
  return around;
}

}  // namespace

std::optional<Figure> around_spikes(const StudyView& study, const std::string& condition) {
  Figure figure{.id = "around_spikes", .title = "Around the spikes of the loss"};
  figure.x.title = "steps since a spike began";
  figure.columns = 3;
  figure.hollow = "not resolved in every spike and layer";
  figure.panels = {{.title = "training loss", .y = {.title = "ratio", .may_log = true}}};
  std::vector<std::string> counts;
  std::vector<Around> arms;
  for (const auto& label : study.arms) {
    arms.push_back(around_in(study.runs_of(label, condition)));
    counts.push_back(fmt::format("{} of {}", counted(arms.back().spikes, "spike"), label));
  }
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    if (!arms[arm].loss.empty()) figure.series.push_back(middle_of(arms[arm].loss, arm, 0, "loss"));
  }
  if (figure.series.empty()) return std::nullopt;
  for (std::size_t q = 0; q < kQuantities.size(); ++q) {
    const auto has = [q](const Around& around) { return !around.measured.at(q).empty(); };
    if (std::ranges::none_of(arms, has)) continue;
    const std::size_t panel = figure.panels.size();
    figure.panels.push_back(
        {.title = kQuantities.at(q).title, .y = {.title = "ratio", .may_log = true}});
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      if (!has(arms[arm])) continue;
      figure.series.push_back(
          middle_of(arms[arm].measured.at(q), arm, panel, kQuantities.at(q).key));
    }
  }
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel)
    figure.lines.push_back({.panel = panel, .y = 1, .label = "as before"});
  figure.caption = fmt::format(
      "Every spike of the training loss in runs that came to their end, laid one upon another: {}. "
      "Line: median over the spikes; band: their middle half. The loss is divided by the median of "
      "the {} calm steps before the spike, all else by its last value before.",
      listed(counts),
      SpikeOptions().window);
  return figure;
}

}  // namespace kappascope::reports
