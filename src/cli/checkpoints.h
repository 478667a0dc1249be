// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kappascope::cli {

/// What became of the checkpoints of a run.
struct CheckedCheckpoints {
  bool looked = true;  ///< whether this program reads checkpoints
  int whole = 0;
  int old = 0;  ///< of version 0.1, which are not read
  std::vector<std::string> damage{};
};

}  // namespace kappascope::cli
