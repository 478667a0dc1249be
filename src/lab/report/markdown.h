// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/study/result.h"

namespace kappascope::reports {

/// The results of studies as a Markdown page (RESULTS.md): the differences of the test loss and a
/// table of all verdicts, then each study with its command, its verdicts, its arms and every
/// comparison that was made.
std::string study_markdown(const std::vector<study::StudyResult>& results);

/// What stands at its beginning, by which the file is known to be replaceable.
inline constexpr const char* kMarkdownMark = "Generated from stored runs by `kappascope results`";

}  // namespace kappascope::reports
