// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/summary.h"

namespace kappascope::reports {

/// The first screen up to its picture: what happened, the facts, a tile an answer, the trust line.
std::string summary_html(const Summary& summary, const std::vector<Arm>& arms);

/// A row an arm: test loss, worst κ, what the bias left, λ1, cost.
std::string arms_html(const std::vector<Arm>& arms);
std::string arms_html(const std::vector<const Arm*>& arms);

/// A row a layer, a column an arm: κ of the W_d block with its interval.
std::string layers_html(const std::vector<Arm>& arms);

}  // namespace kappascope::reports
