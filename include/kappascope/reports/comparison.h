// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kappascope::reports {

struct ComparisonPage {
  std::vector<std::filesystem::path> runs;  ///< or folders of runs, as store::read_run_ends takes
  std::string control;                      ///< the arm with which the others are compared
  std::vector<std::string> metrics;  ///< as the store names them; the first is the most wanted
  std::string title;                 ///< empty: "A and B against CONTROL"
};

/// One self-contained HTML page about a study: what its arms differ by in words, each difference
/// with its interval, and the arms over steps as the median of their seeds with a band from the
/// lowest to the highest. Up to three conditions are drawn in full, of more the loss. Where a
/// folder holds the result of its sweep, its verdicts come first. From the run stores alone; same
/// stores, same bytes. Throws what store::compare_runs throws, and UsageError when the runs are all
/// of one arm.
std::string html_comparison(const ComparisonPage& page);

}  // namespace kappascope::reports
