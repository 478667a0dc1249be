// SPDX-License-Identifier: Apache-2.0
// What did probing cost, and how is it cut?
#include <fmt/format.h>

#include <algorithm>

#include "reports/runs/costs.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

struct ArmCosts {
  std::size_t arm = 0;
  Costs costs{};
};

constexpr const char* kBudget = "probes.budget";

/// Settings of the program, and of attach() in Python.
std::string how_to_cut(const Costs& costs) {
  if (costs.probes.empty()) return "";
  const auto& largest = costs.probes.front();
  const bool hessian = largest.probe == "hessian";
  const std::string most =
      fmt::format("Most of it is {} ({}). ", largest.probe, percent(largest.share));
  if (costs.any_unlimited()) {
    return most + fmt::format("No limit was set: {} = 0.01 keeps it at 1 %.", kBudget);
  }
  return most + fmt::format("To cut it, lower {} or raise {}.",
                            kBudget,
                            hessian ? "probes.hessian-every" : "probes.every");
}

}  // namespace

Answer cost(const std::vector<Arm>& arms) {
  constexpr double kSmall = 0.02;
  constexpr double kLarge = 0.1;
  Answer out{.id = "cost",
             .question = "What did probing cost?",
             .answer = "not stored",
             .why = "The run stores it with its first window.",
             .figure = "facts"};
  std::vector<ArmCosts> all;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (auto costs = costs_of(arms[a])) all.push_back({a, std::move(*costs)});
  }
  if (all.empty()) return out;
  std::ranges::stable_sort(
      all, std::ranges::greater{}, [](const ArmCosts& one) { return one.costs.total; });
  for (const auto& [arm, costs] : all) {
    out.readings.push_back(
        {arm,
         percent(costs.total) + " of the training time",
         costs.any_unlimited() ? fmt::format("no limit: set {} = 0.01", kBudget)
         : costs.budget() > 0
             ? fmt::format("budget {}: {} lowers it", percent(costs.budget()), kBudget)
             : ""});
  }
  const Costs& most = all.front().costs;
  out.answer = percent(most.total);
  const bool within = !most.any_unlimited() && most.budget() > 0 && most.total <= 2 * most.budget();
  out.grade = most.total <= kSmall || within ? Grade::kGood
              : most.total <= kLarge         ? Grade::kWatch
                                             : Grade::kBad;
  out.why = how_to_cut(most);
  return out;
}

}  // namespace kappascope::reports
