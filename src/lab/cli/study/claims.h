// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lab/study/comparison.h"
#include "lab/study/definition.h"
#include "lab/study/run_ends.h"
#include "lab/study/verdict.h"

namespace kappascope::cli {

/// Throws UsageError when a claim of the study does not exist, or is not measured by a study of its
/// name. Call it before anything is trained.
void check_claims(const study::StudyDefinition& definition);

/// The claims of a study, each decided on these runs (study::DecideClaims).
std::vector<study::ClaimVerdict> decide_claims(const study::StudyDefinition& definition,
                                               const std::vector<study::RunEnd>& runs,
                                               study::Family& family);

}  // namespace kappascope::cli
