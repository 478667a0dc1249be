// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kappascope/study/verdict.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

/// The verdicts of all arms: how many of each outcome, and a row each with statement, condition,
/// both sides as numbers and the witness; or the sentence how to get some.
std::string ledger_html(const std::vector<Arm>& arms);

/// The same for the verdicts of studies, with a column for the study where there are several.
std::string ledger_html(const std::vector<study::ClaimVerdict>& verdicts);

}  // namespace kappascope::reports
