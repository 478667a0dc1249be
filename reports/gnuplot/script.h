// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kappascope/reports/report.h"
#include "reports/figures.h"

namespace kappascope::reports {

/// What gnuplot is to run to write the figure to `file`. Names of users stand in it as data only:
/// single quotes, no markup, no control characters.
std::string gnuplot_script(const std::vector<Arm>& arms,
                           const Figure& figure,
                           FigureFormat format,
                           const std::filesystem::path& file);

}  // namespace kappascope::reports
