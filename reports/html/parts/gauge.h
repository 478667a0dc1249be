// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reports/summary.h"

namespace kappascope::reports {

/// A bar on a log axis that shows the value, its interval and the threshold.
std::string gauge_html(const Gauge& gauge);

}  // namespace kappascope::reports
