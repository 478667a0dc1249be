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

/// The most bytes that this process held in main memory so far; nothing where the system does not
/// say. `root`: where /proc is found.
std::optional<std::int64_t> peak_memory(const std::filesystem::path& root = "/");

/// For a process that takes the same memory in every step: what it frees stays with it, so that the
/// next step does not ask the system for each page again. Blocks of more than 32 MiB still go back.
/// Does nothing where the C library is not glibc.
void keep_freed_memory();

}  // namespace kappascope
