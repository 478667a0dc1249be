// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/study/result.h"

namespace kappascope::reports {

/// Below this share of the control's median a difference of a loss is taken not to matter.
inline constexpr double kMatters = 0.01;

/// Every difference of a test loss to its control as a share of the control's median, with its
/// interval drawn on one axis and read beside kMatters: a Markdown table, a row each; empty where
/// there is none. Intervals are those of one comparison alone.
std::string forest_table(const std::vector<study::StudyResult>& results);

}  // namespace kappascope::reports
