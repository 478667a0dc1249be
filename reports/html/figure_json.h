// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/figures.h"

namespace kappascope::reports {

/// The figures as the page's script reads them. Values carry nine digits (a float32 survives),
/// bounds six; NaN is null and infinity the string "inf" or "-inf", which JSON has no number for.
std::string figures_json(const std::vector<Arm>& arms, const std::vector<Figure>& figures);

}  // namespace kappascope::reports
