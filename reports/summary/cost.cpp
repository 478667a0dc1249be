// SPDX-License-Identifier: Apache-2.0
// What did probing cost, and how is it cut?
#include <fmt/format.h>

#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

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
  Answer out{.id = "cost",
             .question = "What did probing cost?",
             .answer = "not stored",
             .why = "The run stores it with its first window.",
             .figure = "facts"};
  const auto all = by_arm(arms, diagnose_cost, [](const CostDiagnosis& c) { return c.value; });
  if (all.empty()) return out;
  for (const auto& [arm, cost] : all) {
    const Costs& costs = cost.costs;
    out.readings.push_back(
        {arm,
         percent(costs.total) + " of the training time",
         costs.any_unlimited() ? fmt::format("no limit: set {} = 0.01", kBudget)
         : costs.budget() > 0
             ? fmt::format("budget {}: {} lowers it", percent(costs.budget()), kBudget)
             : ""});
  }
  const CostDiagnosis& most = all.front().second;
  out.answer = percent(*most.value);
  out.grade = most.grade;
  out.why = how_to_cut(most.costs);
  return out;
}

}  // namespace kappascope::reports
