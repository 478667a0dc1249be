// SPDX-License-Identifier: Apache-2.0
#include "lab/study/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/require.h"

namespace kappascope::study {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename Get>
std::vector<std::string> in_order(const std::vector<RunEnd>& runs, Get get) {
  std::vector<std::string> found;
  for (const auto& run : runs) {
    if (std::find(found.begin(), found.end(), get(run)) == found.end()) found.push_back(get(run));
  }
  return found;
}

using BySeed = std::map<std::string, RunEnd::Value>;

/// Of the runs of one arm and condition; NaN where the run has failed.
BySeed values_of(const std::vector<RunEnd>& runs,
                 const std::string& arm,
                 const std::string& condition,
                 const std::string& metric) {
  BySeed found;
  for (const auto& run : runs) {
    if (run.arm != arm || run.condition != condition) continue;
    RunEnd::Value last{kNaN, -1};
    if (run.state != "failed") {
      const auto value = run.values.find(metric);
      if (value == run.values.end()) {
        throw UsageError(fmt::format("{} has not recorded {}", run.dir.string(), metric));
      }
      last = value->second;
    }
    if (!found.emplace(run.seed, last).second) {
      throw UsageError(
          fmt::format("two runs of arm '{}' have seed {} ({}): compare pairs runs by "
                      "seed, so leave one out",
                      arm,
                      run.seed,
                      run.dir.string()));
    }
  }
  return found;
}

std::vector<double> numbers(const BySeed& values) {
  std::vector<double> out;
  for (const auto& [seed, last] : values) out.push_back(last.value);
  return out;
}

/// Fills in the difference of the pairs that there are.
void compare_pairs(const BySeed& values, const BySeed& control, Comparison& out) {
  std::vector<double> a, b;
  for (const auto& [seed, last] : values) {
    const auto other = control.find(seed);
    if (other == control.end()) continue;
    const bool both = last.step >= 0 && other->second.step >= 0;
    if (both && last.step != other->second.step) {
      throw UsageError(
          fmt::format("{} was last recorded at step {} by {} and at step {} by {} "
                      "(seed {}): give the probe no budget (0) in such a study",
                      out.metric,
                      last.step,
                      out.arm,
                      other->second.step,
                      out.control,
                      seed));
    }
    a.push_back(last.value);
    b.push_back(other->second.value);
  }
  out.difference = paired_difference(a, b);
  out.unpaired = std::ssize(values) + std::ssize(control) - 2 * std::ssize(a);
}

// Holm's procedure judges a test at the level over the number of those that are not found beside
// it; with more found beside it, it would have been found at less.
void correct(std::vector<Comparison>& comparisons) {
  std::vector<double> p;
  p.reserve(comparisons.size());
  for (const auto& c : comparisons) p.push_back(c.difference.p);
  const auto corrected = holm(p);
  const auto open = std::ranges::count_if(corrected, [](double value) { return value >= kLevel; });
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    auto& c = comparisons[i];
    c.corrected_p = corrected[i];
    const auto rivals = open + (c.is_significant() ? 1 : 0);
    if (rivals > 0)
      c.difference.detectable = c.difference.detectable_at(kLevel / static_cast<double>(rivals));
  }
}

}  // namespace

std::vector<Comparison> compare_runs(const std::vector<RunEnd>& runs,
                                     const std::string& control,
                                     const std::vector<std::string>& metrics) {
  const auto arms = in_order(runs, [](const RunEnd& run) { return run.arm; });
  const auto conditions = in_order(runs, [](const RunEnd& run) { return run.condition; });
  if (std::find(arms.begin(), arms.end(), control) == arms.end()) {
    throw UsageError("no run is labelled '" + control + "' (requested as control)");
  }
  for (const auto& run : runs) {
    require(run.state == "finished" || run.state == "failed",
            "{} is not finished ({}): resume it first (kappascope train --resume, or the same "
            "sweep again)",
            run.dir.string(),
            run.state);
  }
  std::vector<Comparison> all;
  for (const auto& metric : metrics) {
    const bool known = std::any_of(
        runs.begin(), runs.end(), [&](const RunEnd& run) { return run.values.contains(metric); });
    if (!known) throw UsageError("no run has recorded " + metric);
    for (const auto& condition : conditions) {
      const auto base = values_of(runs, control, condition, metric);
      for (const auto& arm : arms) {
        if (arm == control) continue;
        const auto values = values_of(runs, arm, condition, metric);
        if (values.empty() || base.empty()) continue;
        Comparison c;
        c.metric = metric;
        c.condition = condition;
        c.arm = arm;
        c.control = control;
        c.arm_median = median(numbers(values));
        c.control_median = median(numbers(base));
        compare_pairs(values, base, c);
        all.push_back(std::move(c));
      }
    }
  }
  correct(all);
  return all;
}

}  // namespace kappascope::study
