// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/median_arm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reports/number_format.h"
#include "reports/runs/seeds.h"

namespace kappascope::reports {
namespace {

constexpr std::size_t kLongestWindow = 101;
constexpr store::SeriesId kNoisy = id::kLossTrain;

/// Of numbers that may be infinite: three infinite ones of five are an infinite median.
double middle(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, values.begin() + half);
  const double upper = values[static_cast<std::size_t>(half)];
  if (values.size() % 2 == 1) return upper;
  const double lower = *std::max_element(values.begin(), values.begin() + half);
  return lower == upper ? upper : lower + (upper - lower) / 2;
}

/// One step of one series in all runs.
store::Scalar median_point(const store::SeriesKey& key,
                           const std::vector<SeedValue>& points,
                           std::size_t runs) {
  std::vector<double> values;
  std::vector<SeedValue> seeds;
  std::size_t unresolved = 0;
  for (const auto& point : points) {
    // A number that its rows do not tell may have an end that they do.
    if (!std::isnan(point.value) || point.lower || point.upper) seeds.push_back(point);
    if (std::isnan(point.value)) continue;
    values.push_back(point.value);
    unresolved += point.resolved ? 0U : 1U;
  }
  store::Scalar out{.name = key.name, .layer = key.layer, .value = middle(values)};
  if (values.size() < runs || unresolved > 0) {
    out.status = store::Status::kNotResolvable;
    auto& note = out.attributes[kSeedsNote];
    note = fmt::format("{} of {} seeds", values.size(), runs);
    if (unresolved > 0) note += fmt::format(", {} not resolved", unresolved);
  }
  if (runs > 1) {
    const auto range = range_over_seeds(seeds);
    out.lower = range.lower;
    out.upper = range.upper;
    if (range.lower || range.upper) out.attributes[kSeedsRange] = counted(seeds.size(), "seed");
  }
  return out;
}

/// The points of one series of one run, and how far the run came.
struct Measured {
  Points points{};
  std::int64_t last_step = 0;
};

bool has_interval(const Measured& run) {
  return std::ranges::any_of(run.points, [](const store::StepValue& point) {
    return point.scalar.lower || point.scalar.upper;
  });
}

/// What is known of a layer at `step`: its last number, where it is of the second half of the steps
/// until then.
std::optional<SeedValue> held(const Measured& run, std::int64_t step, bool exact) {
  std::optional<SeedValue> out;
  if (step > run.last_step) return out;
  const auto& steps = run.points.steps();
  const auto after = std::upper_bound(steps.begin(), steps.end(), step);
  if (after == steps.begin() || 2 * *std::prev(after) < step) return out;
  const auto& [at, scalar] = run.points[static_cast<std::size_t>(after - steps.begin() - 1)];
  return seed_value(scalar, exact);
}

/// At the steps of all runs. The layers of a run take turns, so that those of its seeds are
/// measured at steps of their own.
std::map<std::int64_t, std::vector<SeedValue>> values_by_step(const store::SeriesKey& key,
                                                              const std::vector<Measured>& runs) {
  const bool exact = std::ranges::none_of(runs, has_interval);
  std::map<std::int64_t, std::vector<SeedValue>> steps;
  for (const auto& run : runs) {
    for (const auto& [step, scalar] : run.points) steps[step].push_back(seed_value(scalar, exact));
  }
  if (key.layer.empty()) return steps;
  for (auto& [step, values] : steps) {
    values.clear();
    for (const auto& run : runs)
      if (const auto value = held(run, step, exact)) values.push_back(*value);
  }
  return steps;
}

/// What a cost may be, which all seeds share; empty where none says.
std::string budget_of(const std::vector<Measured>& runs) {
  for (const auto& run : runs) {
    if (run.points.empty()) continue;
    const auto& attributes = run.points.back().scalar.attributes;
    const auto budget = attributes.find(attribute::kBudget);
    if (budget != attributes.end()) return budget->second;
  }
  return "";
}

Points median_series(const store::SeriesKey& key, const std::vector<Measured>& runs) {
  const auto steps = values_by_step(key, runs);
  const auto budget = budget_of(runs);
  std::vector<store::StepValue> points;
  points.reserve(steps.size());
  for (const auto& [step, values] : steps)
    points.push_back({step, median_point(key, values, runs.size())});
  // What is equal in all, such as the learning rate, is no estimate.
  const bool any_band = std::ranges::any_of(points, [](const store::StepValue& point) {
    return point.scalar.lower != point.scalar.upper;
  });
  Points out;
  for (auto& point : points) {
    if (!budget.empty()) point.scalar.attributes[attribute::kBudget] = budget;
    if (!any_band) {
      point.scalar.lower = point.scalar.upper = std::nullopt;
      point.scalar.attributes.erase(kSeedsRange);
    }
    out.push_back(std::move(point));
  }
  return out;
}

bool is_of_checkpoint(const store::SeriesKey& key) {
  return id::kSpectrum.contains(key.name);
}

}  // namespace

Points running_median(const Points& points, std::size_t window) {
  const auto& all = points.values();
  Points out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    auto point = points[i];
    const std::size_t reach = std::min({window / 2, i, points.size() - 1 - i});
    std::vector<double> values;
    for (std::size_t j = i - reach; j <= i + reach; ++j) {
      if (!std::isnan(all[j])) values.push_back(all[j]);
    }
    if (!std::isnan(all[i])) point.scalar.value = middle(std::move(values));
    out.push_back(std::move(point));
  }
  return out;
}

std::size_t smoothing_window(std::size_t points) {
  return std::min(kLongestWindow, points / 30 / 2 * 2 + 1);
}

Arm median_arm(const std::string& label, const std::vector<const Arm*>& runs, std::size_t window) {
  Arm out;
  out.label = label;
  out.seeds = runs.size();
  if (runs.empty()) return out;
  std::map<store::SeriesKey, std::vector<Measured>> series;
  for (const Arm* run : runs) {
    for (const auto& [key, points] : run->scalars) {
      if (!is_of_checkpoint(key)) series[key];
    }
    out.last_step = std::max(out.last_step, run->last_step);
  }
  for (auto& [key, all] : series) {
    for (const Arm* run : runs) {
      const auto& points = run->series(key.name, key.layer);
      all.push_back({key.name == kNoisy ? running_median(points, window) : points, run->last_step});
    }
    out.scalars.emplace(key, median_series(key, all));
  }
  for (const auto& [key, points] : runs.front()->scalars) {
    if (is_of_checkpoint(key)) out.scalars.emplace(key, points);
  }
  out.arrays = runs.front()->arrays;
  out.facts = runs.front()->facts;
  out.dir = runs.front()->dir;
  out.state = runs.front()->state;
  return out;
}

Arm median_arm(const std::string& label, const std::vector<Arm>& runs, std::size_t window) {
  std::vector<const Arm*> pointers;
  pointers.reserve(runs.size());
  for (const Arm& run : runs) pointers.push_back(&run);
  return median_arm(label, pointers, window);
}

std::string seeds_in_words(const std::vector<Arm>& arms) {
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  std::size_t most = 0;
  for (const Arm& arm : arms) {
    if (arm.seeds == 0) continue;
    fewest = std::min(fewest, arm.seeds);
    most = std::max(most, arm.seeds);
  }
  if (most == 0) return "no run came to its end";
  if (most == 1) return "one seed, so no band";
  return fewest == most
             ? fmt::format("median of {} seeds, band: lowest to highest that they allow", most)
             : fmt::format("median of {} to {} seeds, band: lowest to highest that they allow",
                           fewest,
                           most);
}

}  // namespace kappascope::reports
