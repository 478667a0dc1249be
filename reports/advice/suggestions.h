// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kappascope/reports/advice.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

/// What the run's numbers ask for, the most urgent first; `layers`: what is known of the bias.
std::vector<Suggestion> suggestions(const Arm& arm, const std::vector<LayerAdvice>& layers);

}  // namespace kappascope::reports
