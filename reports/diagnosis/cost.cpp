// SPDX-License-Identifier: Apache-2.0
// What did probing cost?
#include <algorithm>
#include <cstdlib>

#include "reports/diagnosis/questions.h"

namespace kappascope::reports {
namespace {

bool is_unlimited(const ProbeCost& cost) {
  return cost.budget == 0.0;
}

std::optional<Costs> costs_of(const Arm& arm) {
  const auto total = arm.last(id::kCostTotal);
  if (!total) return std::nullopt;
  Costs costs{.total = total->scalar.value};
  for (const auto& [key, points] : arm.scalars) {
    if (!id::kCost.contains(key.name) || key.name == id::kCostTotal || key.name == id::kStepSeconds)
      continue;
    const auto point = arm.last(key.name, key.layer);
    if (!point) continue;
    ProbeCost cost{.probe = key.name.substr(id::kCost.prefix().size()),
                   .share = point->scalar.value};
    const auto budget = point->scalar.attributes.find(attribute::kBudget);
    if (budget != point->scalar.attributes.end())
      cost.budget = std::strtod(budget->second.c_str(), nullptr);
    costs.probes.push_back(std::move(cost));
  }
  std::ranges::stable_sort(costs.probes, std::ranges::greater{}, &ProbeCost::share);
  return costs;
}

}  // namespace

double Costs::budget() const {
  double sum = 0;
  for (const auto& cost : probes) sum += cost.budget.value_or(0);
  return sum;
}

bool Costs::any_unlimited() const {
  return std::ranges::any_of(probes, is_unlimited);
}

bool Costs::all_unlimited() const {
  return !probes.empty() && std::ranges::all_of(probes, is_unlimited);
}

CostDiagnosis diagnose_cost(const Arm& arm) {
  constexpr double kSmall = 0.02, kLarge = 0.1, kOverBudget = 2;
  CostDiagnosis out;
  out.question = Question::kCost;
  auto costs = costs_of(arm);
  if (!costs) return out;
  out.costs = std::move(*costs);
  out.value = out.costs.total;
  out.evidence = {{id::kCostTotal, "", arm.last(id::kCostTotal)->step}};
  const double allowed = out.costs.any_unlimited() ? 0 : kOverBudget * out.costs.budget();
  out.threshold = std::max(kSmall, allowed);
  const bool fine = out.costs.total <= *out.threshold;
  out.verdict = fine ? Verdict::kFine : Verdict::kCostly;
  out.grade = fine ? Grade::kGood : out.costs.total <= kLarge ? Grade::kWatch : Grade::kBad;
  return out;
}

}  // namespace kappascope::reports
