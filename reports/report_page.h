// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reports/html/page.h"

namespace kappascope::reports {

/// What html_report() shows of these arms, of which there is at least one.
Page page_about(const std::vector<Arm>& arms);

}  // namespace kappascope::reports
