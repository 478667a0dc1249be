// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/study/result.h"

namespace kappascope::reports {

/// One self-contained HTML page about a study: its verdicts, what its arms differ by in words, each
/// difference with its interval, and the arms over steps as the median of their seeds with a band
/// from the lowest to the highest that they allow. Up to three conditions are drawn in full, of
/// more the loss alone. `runs` are those that `result` compares; their stores give the curves. The
/// first metric of the comparisons is the most wanted. `title` empty: "A and B against CONTROL".
/// Same stores, same bytes. Throws UsageError when nothing was compared, and Error when a store
/// cannot be read.
std::string study_page(const study::StudyResult& result,
                       const std::vector<study::RunEnd>& runs,
                       const std::string& title = "");

}  // namespace kappascope::reports
