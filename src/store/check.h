// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kappascope::store {

/// What was found in the database of a run.
struct StoreCheck {
  std::int64_t rows = 0;            ///< looked at
  bool checksums = false;           ///< whether rows have them; not before version 0.2
  std::vector<std::string> damage;  ///< empty where all is as it was written
};

/// Looks at every page and every row. Cost: one pass over the file. Throws Error where there is no
/// run, or none that this program can open.
StoreCheck check_store(const std::filesystem::path& dir);

}  // namespace kappascope::store
