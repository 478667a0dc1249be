// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace kappascope {

/// What this process holds in main memory, in bytes.
struct ResidentMemory {
  std::int64_t now = 0;
  std::int64_t peak = 0;  ///< the most since the start, or since forget_peak_memory()
};

/// From /proc/self/status; nothing where the system has no such file.
std::optional<ResidentMemory> resident_memory();

/// Bytes of main memory that this process can still take before the system runs short, or the
/// control group that it is in; nothing where the system does not say. `root`: where /proc and /sys
/// are found.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

/// Lets the peak begin anew at what is held now. Returns whether the system could.
bool forget_peak_memory();

}  // namespace kappascope
