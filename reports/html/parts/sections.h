// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/figures.h"
#include "reports/findings.h"
#include "reports/summary.h"

namespace kappascope::reports {

/// One line a finding, its evidence folded behind it; more than two of a kind are one line. Only
/// those of `about_documents`; `level` is that of the headings.
std::string findings_html(const std::vector<Finding>& findings,
                          bool about_documents,
                          int level = 3);

/// A heading that is the sentence, what is known of its error, and what to do.
std::string highlight_html(const Highlight& highlight);

/// The <section> of a figure that can be drawn: heading with its link, the place of the plot, how
/// to read it (unfolded, where it is `first`), its data.
std::string figure_html(const Figure& figure, int level = 2, bool first = false);

/// What could not be drawn and why, as a list in the <section> "not-measured"; empty where all
/// could.
std::string not_drawn_html(const std::vector<Figure>& figures, int level = 2);

}  // namespace kappascope::reports
