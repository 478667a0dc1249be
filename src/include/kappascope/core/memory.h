// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace kappascope {

/// Bytes of main memory that this process can still take before the system runs short, or the
/// control group that it is in; nothing where the system does not say. `root`: where /proc and /sys
/// are found.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace kappascope
