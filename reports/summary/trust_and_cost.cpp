// SPDX-License-Identifier: Apache-2.0
// How far can the other answers be trusted, and what did measuring them cost?
#include <fmt/format.h>

#include <algorithm>

#include "reports/runs/groups.h"
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
      fmt::format("Most of the cost is {} ({}). ", largest.probe, percent(largest.share));
  if (costs.any_unlimited())
    return most + fmt::format("No limit was set: {} = 0.01 keeps it at 1 % of the training time.",
                              kBudget);
  return most + fmt::format("To cut it, lower {} or raise {}.",
                            kBudget,
                            hessian ? "probes.hessian-every" : "probes.every");
}

Reading reading_of(std::size_t arm, const Costs& costs) {
  Reading out{.arm = arm,
              .number = "probing took " + percent(costs.total) + " of the training time"};
  if (costs.any_unlimited()) {
    out.interval = "no limit was set";
  } else if (costs.budget() > 0) {
    out.interval = "budget " + percent(costs.budget());
    if (costs.total > costs.budget()) out.number += ", above its budget";
    out.gauge = Gauge{.value = costs.total, .threshold = costs.budget()};
  }
  return out;
}

std::string resolved_text(const TrustDiagnosis& trust) {
  std::string text;
  if (trust.all > 0) {
    text = fmt::format("{} of {} {} at the end are resolved{}. ",
                       trust.resolved,
                       trust.all,
                       trust.by_steps ? "learning times" : "condition numbers",
                       trust.resolved < trust.all ? "; the others are drawn hollow" : "");
  }
  if (trust.damaged > 0) {
    text += fmt::format("{} left out: `kappascope check` lists them. ",
                        counted(trust.damaged, "damaged value"));
  }
  return text;
}

std::string comparison_text(const std::vector<Arm>& arms) {
  const bool seeds = std::ranges::all_of(arms, [](const Arm& arm) { return arm.seeds > 1; });
  if (arms.size() == 1)
    return seeds ? "One arm: nothing to compare with." : "One run: another seed may differ.";
  return fmt::format(
      "Differences between arms: {}; {}.",
      seeds ? "not by their medians alone" : "one run per arm cannot separate them from chance",
      how_to_be_surer(arms));
}

}  // namespace

Answer trust_and_cost(const std::vector<Arm>& arms) {
  const auto found = diagnose_trust(arms);
  // Of the grade the cost has no part: it is no trouble of the training.
  Answer out{.id = "trust",
             .question = "How sure is this, and what did it cost?",
             .answer = found.all == 0                 ? "nothing measured yet"
                       : found.grade == Grade::kGood  ? "the numbers are resolved"
                       : found.grade == Grade::kWatch ? "some estimates unresolved"
                                                      : "most estimates unresolved",
             .grade = found.grade,
             .why = resolved_text(found),
             .figure = "estimates"};
  const auto costs =
      by_arm(arms, diagnose_cost, [](const CostDiagnosis& cost) { return cost.value; });
  for (const auto& [arm, cost] : costs) out.readings.push_back(reading_of(arm, cost.costs));
  const auto limited = std::ranges::find_if(
      out.readings, [](const Reading& reading) { return reading.gauge.has_value(); });
  if (limited != out.readings.end())
    out.threshold = "the budget of " + percent(limited->gauge->threshold);
  if (!costs.empty()) {
    const Costs& most = costs.front().second.costs;
    if (!most.any_unlimited() && most.budget() > 0 && most.total > most.budget())
      out.why +=
          "The budget is exceeded: the first window of each probe shows what it costs, and "
          "weighs most in a short run. ";
    out.why += how_to_cut(most) + " ";
  }
  out.why += comparison_text(arms);
  return out;
}

}  // namespace kappascope::reports
