// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/cli/train/plan.h"
#include "lab/study/study.h"

namespace kappascope::cli {

/// Prints what each arm of a study takes in each of its conditions, and all of its runs together,
/// one run at a time on each of the devices.
void print_plan(const std::vector<study::StudyRun>& runs,
                const std::string& study,
                const PlanRequest& request,
                bool as_json);

}  // namespace kappascope::cli
