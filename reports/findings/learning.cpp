// SPDX-License-Identifier: Apache-2.0
// What the mean costs in steps of gradient descent, and what a bias leaves of it.
#include <fmt/format.h>

#include <utility>

#include "reports/findings/ratio.h"
#include "reports/findings/rules.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

/// The largest over the layers.
template <typename Of>
std::optional<Ratio> largest_ratio(const Arm& arm, const Of& of) {
  std::optional<Ratio> largest;
  for (const auto& layer : layers_of(arm, id::kLearning)) {
    auto ratio = of(arm, layer);
    if (ratio && (!largest || ratio->value > largest->value)) largest = std::move(ratio);
  }
  return largest;
}

}  // namespace

void find_learning(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    if (const auto costs = largest_ratio(arm, steps_mean_costs))
      out.push_back({"learning_mean",
                     fmt::format("{}: with the mean, gradient descent needs {}× the steps to learn "
                                 "90 % in {}, the layer where the mean costs most.",
                                 arm.label,
                                 words(costs->value),
                                 costs->layer),
                     costs->certainty(),
                     false});
    const auto left = largest_ratio(arm, steps_bias_leaves);
    if (!left) continue;
    const auto changed = steps_bias_changes(arm, left->layer);
    out.push_back(
        {"learning_left",
         fmt::format(
             "{}: with its bias b it needs {}× the steps that it would need "
             "without a mean in {}, the layer where most of the cost remains{}.",
             arm.label,
             words(left->value),
             left->layer,
             changed ? fmt::format("; that is {}× those without b", words(changed->value)) : ""),
         left->certainty(),
         false});
  }
}

}  // namespace kappascope::reports
