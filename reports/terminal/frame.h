// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/live/live_text.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

/// The loss, κ and λ1 of the arms as text: a line an arm, then the first figures of the page drawn
/// in characters, on one axis of steps.
std::string frame_of(const std::vector<Arm>& arms, const TerminalSize& size);

}  // namespace kappascope::reports
