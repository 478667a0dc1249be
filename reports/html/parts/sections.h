// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/figures.h"
#include "reports/findings.h"

namespace kappascope::reports {

/// One line a finding, its evidence folded behind it; more than two of a kind are one line. Only
/// those of `about_documents`.
std::string findings_html(const std::vector<Finding>& findings, bool about_documents);

/// The <section> of a figure that can be drawn: heading with its link, the place of the plot, how
/// to read it, its data.
std::string figure_html(const Figure& figure);

/// What could not be drawn and why, as a list in the <section> "not-measured"; empty where all
/// could.
std::string not_drawn_html(const std::vector<Figure>& figures);

}  // namespace kappascope::reports
