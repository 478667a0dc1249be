// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/report/view.h"
#include "reports/figures.h"
#include "reports/findings.h"

namespace kappascope::reports {

// The parts of the page of a study, from top to bottom.

/// What is told apart, the largest effects first, and what is not.
void find_differences(const StudyView& study, std::vector<Finding>& out);

/// The verdicts, what is told apart and what is not, what was left out, what was run.
std::vector<Finding> study_findings(const StudyView& study);

/// Differences to the control with their intervals: a panel a metric, over the conditions, or over
/// the arms where there is one condition. Hollow where the arm is not told apart.
Figure effects(const StudyView& study);

/// The loss and the conditioning of every arm as its loss spikes, from steps before to steps after;
/// nothing where no loss does (core/spikes). Still without axes.
std::optional<Figure> around_spikes(const StudyView& study, const std::string& condition);

/// The arms over steps: every figure of the report for each of up to three conditions, of more the
/// loss alone, a panel a condition. Figures with nothing to draw are left out, around_spikes()
/// stands last. Still without axes.
std::vector<Figure> study_figures(const StudyView& study);

/// One arm of the study each, the median of its runs, in its order. Runs that failed are left out.
std::vector<Arm> median_arms(const StudyView& study, const std::string& condition);

/// Every comparison with its medians, interval and counts.
std::string comparisons_html(const StudyView& study);

/// What all runs share, what the arms and conditions change, and how many runs there were.
std::string study_facts_html(const StudyView& study);

}  // namespace kappascope::reports
