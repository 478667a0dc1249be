// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/arms.h"

namespace kappascope::reports {

/// The verdicts of all arms: how many of each outcome, and a row each with statement, condition,
/// both sides as numbers and the witness; or the sentence how to get some.
std::string ledger_html(const std::vector<Arm>& arms);

}  // namespace kappascope::reports
