// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/study/verdict.h"

namespace kappascope::theory {

/// What experiments/results.json said of this claim when the program was built, a verdict a study.
std::vector<study::ClaimVerdict> studied(const std::string& claim);

}  // namespace kappascope::theory
