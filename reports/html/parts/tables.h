// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

std::string table_head(const std::vector<std::string>& names);
/// A cell of text, escaped; a long one folds away behind its first words. `kind`: further
/// attributes.
std::string table_cell(const std::string& text, const char* kind = "");
/// In a frame that scrolls where the page is narrow.
std::string table(const std::string& head, const std::string& body);
/// One of `rows` rows that a reader filters and sorts (page/tables.js), where there are a few; one
/// a section.
std::string table_of_runs(const std::vector<std::string>& names,
                          const std::string& body,
                          std::size_t rows);

// Parts of the page that need no script, as HTML; everything that came from a user is escaped.
/// How good the last estimate of each condition number is.
std::string estimates_html(const std::vector<Arm>& arms);
/// Every fact of every run, the configuration and the events.
std::string facts_html(const std::vector<Arm>& arms);

}  // namespace kappascope::reports
