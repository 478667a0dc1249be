// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reports/advice.h"
#include "reports/diagnosis/questions.h"

namespace kappascope::reports {

/// What the run's numbers ask for, the most urgent first.
std::vector<Suggestion> suggestions(const Arm& arm, const Diagnoses& found);

}  // namespace kappascope::reports
