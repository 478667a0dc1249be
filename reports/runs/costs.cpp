// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/costs.h"

#include <algorithm>
#include <cstdlib>

namespace kappascope::reports {
namespace {

bool is_unlimited(const ProbeCost& cost) {
  return cost.budget == 0.0;
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

std::optional<Costs> costs_of(const Arm& arm) {
  const auto* total = arm.last(id::kCostTotal);
  if (total == nullptr) return std::nullopt;
  Costs costs{.total = total->scalar.value};
  for (const auto& [key, points] : arm.scalars) {
    if (!id::kCost.contains(key.name) || key.name == id::kCostTotal) continue;
    const auto* point = arm.last(key.name, key.layer);
    if (point == nullptr) continue;
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

}  // namespace kappascope::reports
