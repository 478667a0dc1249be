// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/median_arm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

struct Value {
  SeedValue of_seed{};
  bool resolved = false;
};

Value value_of(const store::Scalar& scalar) {
  return {seed_value(scalar), is_resolved(scalar)};
}

/// One step of one series in all runs.
store::Scalar median_point(const store::SeriesKey& key,
                           const std::vector<Value>& points,
                           std::size_t runs) {
  std::vector<double> values;
  std::vector<SeedValue> seeds;
  std::size_t unresolved = 0;
  for (const auto& [of_seed, resolved] : points) {
    if (std::isnan(of_seed.value)) continue;
    values.push_back(of_seed.value);
    seeds.push_back(of_seed);
    unresolved += resolved ? 0U : 1U;
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
    if (range.lower || range.upper)
      out.attributes[kSeedsRange] = fmt::format("{} seeds", values.size());
  }
  return out;
}

/// The points of one series of one run, and how far the run came.
struct Measured {
  Points points{};
  std::int64_t last_step = 0;
};

/// What is known of a layer at `step`: its last number, where it is of the second half of the steps
/// until then.
std::optional<Value> held(const Measured& run, std::int64_t step) {
  std::optional<Value> out;
  if (step > run.last_step) return out;
  const auto& steps = run.points.steps();
  const auto after = std::upper_bound(steps.begin(), steps.end(), step);
  if (after == steps.begin() || 2 * *std::prev(after) < step) return out;
  const auto& [at, scalar] = run.points[static_cast<std::size_t>(after - steps.begin() - 1)];
  return value_of(scalar);
}

/// At the steps of all runs. The layers of a run take turns, so that those of its seeds are
/// measured at steps of their own.
std::map<std::int64_t, std::vector<Value>> values_by_step(const store::SeriesKey& key,
                                                          const std::vector<Measured>& runs) {
  std::map<std::int64_t, std::vector<Value>> steps;
  for (const auto& run : runs) {
    for (const auto& [step, scalar] : run.points) steps[step].push_back(value_of(scalar));
  }
  if (key.layer.empty()) return steps;
  for (auto& [step, values] : steps) {
    values.clear();
    for (const auto& run : runs)
      if (const auto value = held(run, step)) values.push_back(*value);
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
             ? fmt::format("median of {} seeds, band: lowest to highest", most)
             : fmt::format("median of {} to {} seeds, band: lowest to highest", fewest, most);
}

}  // namespace kappascope::reports
