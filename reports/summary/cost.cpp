// SPDX-License-Identifier: Apache-2.0
// What did probing cost, and how is it cut?
#include <fmt/format.h>

#include <algorithm>

#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

struct Cost {
  std::size_t arm = 0;
  double total = 0;
  double budget = 0;       ///< of all probes together; 0: none
  bool unlimited = false;  ///< a probe may take what it wants
  std::string largest{};   ///< the probe that takes most
  double largest_share = 0;
};

std::optional<Cost> cost_of(const std::vector<Arm>& arms, std::size_t a) {
  const Arm& arm = arms[a];
  const auto* total = arm.last(id::kCostTotal);
  if (total == nullptr) return std::nullopt;
  Cost cost{.arm = a, .total = total->scalar.value};
  for (const auto& [key, points] : arm.scalars) {
    if (!id::kCost.contains(key.name) || key.name == id::kCostTotal) continue;
    const auto* point = arm.last(key.name, key.layer);
    if (point == nullptr) continue;
    const auto budget = point->scalar.attributes.find(attribute::kBudget);
    if (budget != point->scalar.attributes.end()) {
      const double share = std::strtod(budget->second.c_str(), nullptr);
      cost.budget += share;
      cost.unlimited = cost.unlimited || share == 0;
    }
    if (point->scalar.value > cost.largest_share) {
      cost.largest_share = point->scalar.value;
      cost.largest = key.name.substr(id::kCost.prefix().size());
    }
  }
  return cost;
}

/// Settings of the program, and of attach() in Python.
std::string how_to_cut(const Cost& cost) {
  if (cost.largest.empty()) return "";
  const bool hessian = cost.largest == "hessian";
  const std::string most =
      fmt::format("Most of it is {} ({}). ", cost.largest, percent(cost.largest_share));
  if (cost.unlimited) {
    return most + fmt::format("No limit was set: {} = 0.01 keeps it at 1 %.",
                              hessian ? "probes.hessian-budget" : "probes.budget");
  }
  return most + fmt::format("To cut it, lower {} or raise {}.",
                            hessian ? "probes.hessian-budget" : "probes.budget",
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
  std::vector<Cost> costs;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (auto cost = cost_of(arms, a)) costs.push_back(std::move(*cost));
  }
  if (costs.empty()) return out;
  std::ranges::stable_sort(costs, std::ranges::greater{}, &Cost::total);
  for (const Cost& cost : costs) {
    out.readings.push_back({cost.arm,
                            percent(cost.total) + " of the training time",
                            cost.unlimited    ? "no limit was set"
                            : cost.budget > 0 ? "budget " + percent(cost.budget)
                                              : ""});
  }
  const Cost& most = costs.front();
  out.answer = percent(most.total);
  const bool within = !most.unlimited && most.budget > 0 && most.total <= 2 * most.budget;
  out.grade = most.total <= kSmall || within ? Grade::kGood
              : most.total <= kLarge         ? Grade::kWatch
                                             : Grade::kBad;
  out.why = how_to_cut(most);
  return out;
}

}  // namespace kappascope::reports
