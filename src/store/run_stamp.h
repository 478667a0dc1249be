// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

namespace kappascope::store {

/// Tells whether a run was written since it was looked at, without opening it: which its files are,
/// how long, and when they were written. Cost: two system calls.
struct RunStamp {
  std::int64_t database = 0;  ///< number of the file; 0: there is no run
  std::array<std::int64_t, 5> files{};
  /// Whether a later write would leave another stamp. Clocks of files go in ticks: what was written
  /// a moment ago may be written again within the same tick.
  bool settled = false;

  /// Nothing was written between the two, taken in this order.
  [[nodiscard]] bool still(const RunStamp& now) const {
    return settled && database == now.database && files == now.files;
  }
};
RunStamp stamp_of(const std::filesystem::path& dir);

/// Whether some process writes the run in `dir` now; false where that cannot be known. Asks the
/// kernel for the lock without taking it, and opens no database.
bool is_being_written(const std::filesystem::path& dir);

}  // namespace kappascope::store
