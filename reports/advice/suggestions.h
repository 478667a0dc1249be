// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reports/advice.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

/// What the run's numbers ask for, the most urgent first; `layers`: what is known of the bias.
std::vector<Suggestion> suggestions(const Arm& arm, const std::vector<LayerAdvice>& layers);

/// Whether it lies in the first tenth of the run: what was measured there last is nothing to go by.
bool is_of_the_start(const Arm& arm, std::int64_t step);

}  // namespace kappascope::reports
