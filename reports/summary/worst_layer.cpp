// SPDX-License-Identifier: Apache-2.0
// Which layer is worst conditioned, and does that matter in a run of this length?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/figures/builders.h"
#include "reports/runs/layer_names.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

/// Gradient descent at its best fixed rate shrinks the error along the slowest direction by
/// (κ-1)/(κ+1) a step, so by a factor e in about κ/2 steps.
double steps_to_shrink(double kappa) {
  return kappa / 2;
}

/// Good where the slowest direction shrinks ten times by e within the run, bad where not once.
Grade grade_of(const store::Scalar& kappa, double steps) {
  constexpr double kComfortable = 10;
  if (!is_resolved(kappa)) {
    const bool sure = kappa.lower && steps_to_shrink(*kappa.lower) > steps;
    return sure ? Grade::kBad : Grade::kOpen;
  }
  const double needed = steps_to_shrink(kappa.value);
  if (kComfortable * needed <= steps) return Grade::kGood;
  return needed <= steps ? Grade::kWatch : Grade::kBad;
}

std::string explained(const store::Scalar& kappa, double steps, Grade grade) {
  if (grade == Grade::kOpen) {
    return "The rows of a window do not resolve it: raise probes.window (window= in Python).";
  }
  const bool resolved = is_resolved(kappa);
  return fmt::format(
      "Gradient descent needs {} κ/2 = {} steps to shrink the slowest direction of this W_d by a "
      "factor e; the run has {}.",
      resolved ? "about" : "at least",
      grouped(std::ceil(steps_to_shrink(resolved ? kappa.value : *kappa.lower))),
      grouped(steps));
}

/// The layer is named where it is not the one that the answer names.
Reading reading_of(std::size_t a,
                   const WorstLayer& worst,
                   const std::string& named,
                   const LayerNames& short_name) {
  const store::Scalar& kappa = worst.point->scalar;
  const std::string where = worst.layer == named ? "" : " in " + short_name(worst.layer);
  if (is_resolved(kappa)) {
    return {a, fmt::format("κ = {}{}", words(kappa.value), where), interval(kappa)};
  }
  const bool bounded = kappa.lower && *kappa.lower > 1;
  return {a,
          bounded ? fmt::format("κ is at least {}{}", words(*kappa.lower), where)
                  : fmt::format("κ{} is not resolved", where),
          fmt::format("{}not resolved: {}",
                      std::isfinite(kappa.value) ? "estimate " + words(kappa.value) + ", " : "",
                      status_text(kappa))};
}

}  // namespace

WorstLayer worst_conditioned_of(const Arm& arm) {
  WorstLayer worst;
  for (const auto& layer : layers_of(arm, id::kKappas)) {
    const auto* point = arm.last(block_kappa(arm, layer), layer);
    if (point == nullptr) continue;
    if (worst.point == nullptr || point->scalar.value > worst.point->scalar.value)
      worst = {layer, point};
  }
  return worst;
}

WorstLayer worst_layer_of(const Arm& arm) {
  auto slowest = slowest_layer_of(arm);
  return slowest.point != nullptr ? slowest : worst_conditioned_of(arm);
}

Answer worst_layer(const std::vector<Arm>& arms) {
  if (auto by_steps = slowest_layer(arms)) return *by_steps;
  Answer out{.id = "worst_layer",
             .question = "Which layer is worst conditioned?",
             .answer = "not measured",
             .why = "No condition number was stored: the features probe did not run.",
             .figure = "kappa_layers"};
  std::vector<std::pair<std::size_t, WorstLayer>> found;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (auto worst = worst_conditioned_of(arms[a]); worst.point != nullptr)
      found.emplace_back(a, std::move(worst));
  }
  if (found.empty()) return out;
  std::ranges::stable_sort(found, [](const auto& x, const auto& y) {
    return x.second.point->scalar.value > y.second.point->scalar.value;
  });
  const auto& [first, worst] = found.front();
  const LayerNames short_name(arms);
  for (const auto& [a, of_arm] : found)
    out.readings.push_back(reading_of(a, of_arm, worst.layer, short_name));
  const double steps = steps_of(arms[first]);
  out.answer = short_name(worst.layer);
  out.grade = grade_of(worst.point->scalar, steps);
  out.why = explained(worst.point->scalar, steps, out.grade);
  if (out.answer != worst.layer) out.why += " Its module: " + worst.layer + ".";
  return out;
}

}  // namespace kappascope::reports
