// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kappascope::cli {

/// What became of the checkpoints of a run.
struct CheckedCheckpoints {
  bool looked = true;  ///< whether this program reads checkpoints
  int whole = 0;
  int old = 0;  ///< of version 0.1, which are not read
  std::vector<std::string> damage;
};

/// Reads them all. Defined by the program: the one without a trainer looks at none.
CheckedCheckpoints check_checkpoints(const std::filesystem::path& run);

}  // namespace kappascope::cli
