// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "cli/checkpoints.h"

namespace kappascope::cli {

/// Reads all checkpoints of a run.
CheckedCheckpoints check_checkpoints(const std::filesystem::path& run);

}  // namespace kappascope::cli
