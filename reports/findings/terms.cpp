// SPDX-License-Identifier: Apache-2.0
#include "reports/findings/terms.h"

#include <algorithm>

namespace kappascope::reports {

Terms::Terms(std::span<const Arm> arms)
    : in_steps_(std::ranges::any_of(arms, [](const Arm& arm) { return arm.has(id::kLearning); })) {}

std::vector<std::string> Terms::layers(const Arm& arm) const {
  return layers_of(arm, in_steps_ ? std::string(id::kLearning) : std::string(id::kKappas));
}

std::optional<Ratio> Terms::mean_costs(const Arm& arm, const std::string& layer) const {
  return in_steps_ ? steps_mean_costs(arm, layer) : reports::mean_costs(arm, layer);
}

std::optional<Ratio> Terms::bias_leaves(const Arm& arm, const std::string& layer) const {
  return in_steps_ ? steps_bias_leaves(arm, layer) : reports::bias_leaves(arm, layer);
}

std::optional<Ratio> Terms::bias_changes(const Arm& arm, const std::string& layer) const {
  return in_steps_ ? steps_bias_changes(arm, layer) : reports::bias_changes(arm, layer);
}

}  // namespace kappascope::reports
