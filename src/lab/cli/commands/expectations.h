// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "theory/claim.h"

namespace kappascope::cli {

using Decided = std::pair<const theory::Claim*, theory::Verdict>;

/// In what the verdicts differ from a file of verdicts that `verify --json` printed: one line a
/// claim whose outcome or condition changed, or that the file lacks. Throws UsageError where the
/// file cannot be read or a line of it is no verdict.
std::vector<std::string> differences(const std::filesystem::path& expected,
                                     const std::vector<Decided>& verdicts);

}  // namespace kappascope::cli
