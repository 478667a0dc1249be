// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

/// The runs of one arm under one condition as one arm. Each point of a series is the median over
/// the runs that have a number there (infinity counts), its bounds those of range_over_seeds();
/// with one run, without bounds. The layers of a run are measured in turns: of those its last
/// number stands, from half of the step on. Where a run has none, or one that is not resolved, the
/// status says so and the point is not resolved either. loss/train is smoothed in each run before.
/// What cannot be averaged, arrays and the spectra of checkpoints, is the first run's. Without runs
/// it is empty.
Arm median_arm(const std::string& label, const std::vector<const Arm*>& runs, std::size_t window);
Arm median_arm(const std::string& label, const std::vector<Arm>& runs, std::size_t window);

/// The medians of `window` (odd) points about each; towards the ends of as many as there are on
/// the shorter side, so that a falling series stays as it is. NaN stays where it is.
Points running_median(const Points& points, std::size_t window);

/// The window that smooths a loss of so many points: a thirtieth of them, 1 for a short one.
std::size_t smoothing_window(std::size_t points);

/// How many runs stand behind the medians, for a caption: "median of 5 seeds, band: lowest to
/// highest that they allow".
std::string seeds_in_words(const std::vector<Arm>& arms);

}  // namespace kappascope::reports
