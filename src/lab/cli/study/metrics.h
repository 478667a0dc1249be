// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lab/study/plan.h"

namespace kappascope::cli {

/// What can be told of a study's runs before the first step. Throws UsageError where the settings
/// of a run are refused, where two runs would be the same training, and where a run would not
/// record a metric that the study compares or a regime rests on.
void check_runs(const study::StudyDefinition& definition, const std::vector<study::StudyRun>& runs);

}  // namespace kappascope::cli
