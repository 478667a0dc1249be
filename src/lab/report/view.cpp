// SPDX-License-Identifier: Apache-2.0
#include "lab/report/view.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include "kappascope/core/error.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {
namespace {

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

std::vector<std::string> conditions_of(const std::vector<study::RunEnd>& runs) {
  std::vector<std::string> conditions;
  conditions.reserve(runs.size());
  for (const auto& run : runs) conditions.push_back(run.condition);
  std::ranges::sort(conditions, condition_less);
  conditions.erase(std::unique(conditions.begin(), conditions.end()), conditions.end());
  return conditions;
}

}  // namespace

std::vector<const study::RunEnd*> StudyView::runs_of(const std::string& arm,
                                                     const std::string& condition) const {
  std::vector<const study::RunEnd*> found;
  for (const auto& run : runs) {
    if (run.arm == arm && run.condition == condition) found.push_back(&run);
  }
  std::ranges::sort(found, [](auto* a, auto* b) { return natural_less(a->seed, b->seed); });
  return found;
}

const study::Comparison* StudyView::compared(const std::string& metric,
                                             const std::string& condition,
                                             const std::string& arm) const {
  const auto found = std::ranges::find_if(comparisons, [&](const study::Comparison& c) {
    return c.metric == metric && c.condition == condition && c.arm == arm;
  });
  return found == comparisons.end() ? nullptr : &*found;
}

std::size_t StudyView::place_of(const std::string& arm) const {
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

StudyView view_of(const study::StudyResult& result, const std::vector<study::RunEnd>& runs) {
  if (result.comparisons.empty()) {
    throw UsageError("there is nothing to compare: no arm shares a condition with '" +
                     result.control() + "'");
  }
  StudyView view{.runs = runs,
                 .control = result.control(),
                 .conditions = conditions_of(runs),
                 .comparisons = result.comparisons,
                 .verdicts = result.verdicts};
  for (const auto& arm : result.arms) view.arms.push_back(arm.arm);
  for (const auto& c : view.comparisons) {
    if (std::ranges::find(view.metrics, c.metric) == view.metrics.end())
      view.metrics.push_back(c.metric);
  }
  const auto place = [&](const study::Comparison& c) {
    return std::tuple(std::ranges::find(view.metrics, c.metric),
                      std::ranges::find(view.conditions, c.condition),
                      view.place_of(c.arm));
  };
  std::ranges::stable_sort(view.comparisons, {}, place);
  return view;
}

}  // namespace kappascope::reports
