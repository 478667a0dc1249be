// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/summary.h"

namespace kappascope::reports {

/// A bar on a log axis that shows the value, its interval, the threshold and what is usual. The
/// axis has room for those beside it too: they are read against each other.
std::string gauge_html(const Gauge& gauge, const std::vector<Gauge>& beside = {});

}  // namespace kappascope::reports
