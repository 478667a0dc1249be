// SPDX-License-Identifier: Apache-2.0
// What the mean costs in steps of gradient descent, and what a bias leaves of it.
#include <fmt/format.h>

#include "reports/findings/rules.h"
#include "reports/findings/wording.h"

namespace kappascope::reports {
void find_learning(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    if (const auto costs = largest_of(arm, id::kLearning, steps_mean_costs))
      out.push_back({"learning_mean",
                     fmt::format("{}: with the mean, gradient descent needs {}× the steps to learn "
                                 "90 % in {}, the layer where the mean costs most.",
                                 arm.label,
                                 words(costs->value),
                                 costs->layer),
                     certainty_of(*costs),
                     false});
    const auto left = largest_of(arm, id::kLearning, steps_bias_leaves);
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
         certainty_of(*left),
         false});
  }
}

}  // namespace kappascope::reports
