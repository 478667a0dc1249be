// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

/// What a run is doing: "running, step 1,234, written", "its process is gone; last sign of life:
/// step 1,234,", which the time of Arm::last_written completes; without one it stands alone.
std::string activity(const Arm& arm);

/// What the page says of them all, as HTML: each run where they are few, else how many of each
/// state, and those that died; then what cannot be read.
std::string note_html(const std::vector<Arm>& arms, const std::vector<std::string>& problems);

}  // namespace kappascope::reports
