// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kappascope/core/statistics.h"
#include "lab/study/run_ends.h"

namespace kappascope::study {

/// The level of significance of a difference between two arms, over all comparisons made at once;
/// that of the 95 % intervals of PairedDifference.
inline constexpr double kLevel = 0.05;

/// One arm against the control under one condition.
struct Comparison {
  std::string metric, condition, arm, control;
  double arm_median = 0, control_median = 0;
  std::int64_t unpaired = 0;    ///< runs of either arm whose seed the other lacks
  PairedDifference difference;  ///< arm - control, paired by seed
  double corrected_p = 0;       ///< over all comparisons made at once (Holm); NaN where p is

  /// Is the difference significant at kLevel? Never where corrected_p is NaN.
  [[nodiscard]] bool is_significant() const { return corrected_p < kLevel; }
};

/// All arms against `control` for each metric and condition, corrected together: corrected_p, and
/// `detectable` at the level at which each is then judged. A run whose loss left the finite
/// numbers, or whose value is not to be used (a spectrum that did not converge), is counted and
/// left out. Throws Error when a run is not finished, UsageError when no run has that arm, a
/// finished run lacks the metric, two runs of an arm share condition and seed, or the two of a pair
/// recorded the metric last at different steps.
std::vector<Comparison> compare_runs(const std::vector<RunEnd>& runs,
                                     const std::string& control,
                                     const std::vector<std::string>& metrics);

}  // namespace kappascope::study
