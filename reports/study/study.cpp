// SPDX-License-Identifier: Apache-2.0
#include "reports/study/study.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include "kappascope/core/error.h"

namespace kappascope::reports {
namespace {

namespace fs = std::filesystem;

constexpr double kLevel = 0.05;

/// The first of "a, b" and what follows the comma.
std::pair<std::string, std::string> first_part(const std::string& text) {
  const auto comma = text.find(", ");
  if (comma == std::string::npos) return {text, ""};
  return {text.substr(0, comma), text.substr(comma + 2)};
}

/// "learning-rate" and 0.1; nothing where the last word is no number.
std::optional<std::pair<std::string, double>> setting_of(const std::string& part) {
  const auto space = part.rfind(' ');
  const std::string word = part.substr(space == std::string::npos ? 0 : space + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return std::pair{part.substr(0, part.size() - word.size()), value};
}

std::vector<std::string> arms_of(const std::vector<store::RunEnd>& runs,
                                 const std::string& control) {
  std::vector<std::string> arms = {control};
  for (const auto& run : runs) {
    if (std::ranges::find(arms, run.arm) == arms.end()) arms.push_back(run.arm);
  }
  return arms;
}

std::vector<std::string> conditions_of(const std::vector<store::RunEnd>& runs) {
  std::vector<std::string> conditions;
  conditions.reserve(runs.size());
  for (const auto& run : runs) conditions.push_back(run.condition);
  std::ranges::sort(conditions, condition_less);
  conditions.erase(std::unique(conditions.begin(), conditions.end()), conditions.end());
  return conditions;
}

std::vector<Arm> results_in(const std::vector<fs::path>& paths) {
  std::vector<Arm> results;
  for (const auto& path : paths) {
    const auto dir = path / "study";
    if (!fs::exists(dir / "run.sqlite")) continue;
    Arm arm = read_arms({dir}).front();
    if (arm.fact("kind") == "study") results.push_back(std::move(arm));
  }
  return results;
}

}  // namespace

std::vector<const store::RunEnd*> Study::runs_of(const std::string& arm,
                                                 const std::string& condition) const {
  std::vector<const store::RunEnd*> found;
  for (const auto& run : runs) {
    if (run.arm == arm && run.condition == condition) found.push_back(&run);
  }
  std::ranges::sort(found, [](auto* a, auto* b) { return natural_less(a->seed, b->seed); });
  return found;
}

const store::Comparison* Study::compared(const std::string& metric,
                                         const std::string& condition,
                                         const std::string& arm) const {
  const auto found = std::ranges::find_if(comparisons, [&](const store::Comparison& c) {
    return c.metric == metric && c.condition == condition && c.arm == arm;
  });
  return found == comparisons.end() ? nullptr : &*found;
}

std::size_t Study::place_of(const std::string& arm) const {
  return static_cast<std::size_t>(std::ranges::find(arms, arm) - arms.begin());
}

bool condition_less(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a.size() < b.size();
  const auto [first_a, rest_a] = first_part(a);
  const auto [first_b, rest_b] = first_part(b);
  if (first_a == first_b) return condition_less(rest_a, rest_b);
  const auto x = setting_of(first_a);
  const auto y = setting_of(first_b);
  if (x && y && *x != *y) return *x < *y;
  return natural_less(first_a, first_b);
}

bool told_apart(const store::Comparison& comparison) {
  return comparison.corrected_p < kLevel;
}

Study read_study(const ComparisonPage& page) {
  Study study{.runs = store::read_run_ends(page.runs), .control = page.control};
  study.comparisons = store::compare_runs(study.runs, page.control, page.metrics);
  study.metrics = page.metrics;
  study.arms = arms_of(study.runs, page.control);
  study.conditions = conditions_of(study.runs);
  if (study.comparisons.empty()) {
    throw UsageError("there is nothing to compare: no arm shares a condition with '" +
                     page.control + "'");
  }
  const auto place = [&](const store::Comparison& c) {
    return std::tuple(std::ranges::find(study.metrics, c.metric),
                      std::ranges::find(study.conditions, c.condition),
                      study.place_of(c.arm));
  };
  std::ranges::stable_sort(study.comparisons, {}, place);
  study.results = results_in(page.runs);
  return study;
}

}  // namespace kappascope::reports
