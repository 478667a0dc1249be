// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/figures.h"

namespace kappascope::reports {

/// The figures as the page's script reads them. Numbers carry nine digits (a float32 survives); NaN
/// is null and infinity the string "inf" or "-inf", which JSON has no number for.
std::string figures_json(const std::vector<Arm>& arms, const std::vector<Figure>& figures);

}  // namespace kappascope::reports
