// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kappascope/store/record.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

/// The verdicts of all arms: how many of each outcome, and a row each with statement, condition,
/// both sides as numbers and the witness; or the sentence how to get some.
std::string ledger_html(const std::vector<Arm>& arms);

/// The same for verdicts each with its study, which has a column where there are several.
std::string ledger_html(const std::vector<std::pair<std::string, store::VerdictRow>>& studies);

}  // namespace kappascope::reports
