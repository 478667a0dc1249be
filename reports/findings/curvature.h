// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reports/runs/arms.h"

namespace kappascope::reports {

/// The learning rate that was in force at `step`: the last one stored at or before it; 0 without.
double rate_at(const Arm& arm, std::int64_t step);

}  // namespace kappascope::reports
