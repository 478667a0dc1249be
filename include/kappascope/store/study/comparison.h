// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kappascope/core/paired.h"
#include "kappascope/store/study/run_ends.h"

namespace kappascope::store {

/// One arm against the control under one condition.
struct Comparison {
  std::string metric, condition, arm, control;
  double arm_median = 0, control_median = 0;
  std::int64_t unpaired = 0;    ///< runs of either arm whose seed the other lacks
  PairedDifference difference;  ///< arm - control, paired by seed
  double corrected_p = 0;       ///< over all comparisons made at once (Holm)
};

/// All arms against `control` for each metric and condition. A run whose loss left the finite
/// numbers, or whose value is not to be used (a spectrum that did not converge), is counted and
/// left out. Throws Error when a run is not finished, UsageError when no run has that arm, a
/// finished run lacks the metric, two runs of an arm share condition and seed, or the two of a pair
/// recorded the metric last at different steps.
std::vector<Comparison> compare_runs(const std::vector<RunEnd>& runs,
                                     const std::string& control,
                                     const std::vector<std::string>& metrics);

}  // namespace kappascope::store
