// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <string>

namespace kappascope {
namespace {

namespace fs = std::filesystem;

/// The number after a word at the beginning of a line of a file.
std::optional<std::int64_t> number_after(const fs::path& file, const std::string& word) {
  std::ifstream lines(file);
  std::string first;
  std::int64_t number = 0;
  while (lines >> first) {
    if (first == word && lines >> number) return number;
    lines.clear();
    std::getline(lines, first);
  }
  return std::nullopt;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream text(file);
  std::int64_t number = 0;
  return text >> number ? std::optional(number) : std::nullopt;  // "max" is no number
}

/// What the control groups of this process leave it (cgroups(7), version 2).
std::optional<std::int64_t> left_by_control_groups(const fs::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  std::string line, path;
  while (std::getline(file, line)) {
    if (line.rfind("0::", 0) == 0) path = line.substr(3);
  }
  std::optional<std::int64_t> left;
  for (; !path.empty(); path.erase(path.rfind('/'))) {
    const auto group = root / ("sys/fs/cgroup" + path);
    const auto limit = number_in(group / "memory.max");
    const auto used = number_in(group / "memory.current");
    if (!limit || !used) continue;
    // Pages of files that were not used for long are let go before anything is refused.
    const auto cache = number_after(group / "memory.stat", "inactive_file").value_or(0);
    const auto here = std::max<std::int64_t>(0, *limit - *used + cache);
    left = std::min(left.value_or(here), here);
  }
  return left;
}

}  // namespace

std::optional<std::int64_t> available_memory(const fs::path& root) {
  const auto left = left_by_control_groups(root);
  const auto kibibytes = number_after(root / "proc/meminfo", "MemAvailable:");
  if (!kibibytes) return left;
  return std::min(*kibibytes * 1024, left.value_or(*kibibytes * 1024));
}

std::optional<std::int64_t> peak_memory(const fs::path& root) {
  // Not getrusage(): what that counts begins with the process that started this one.
  const auto kibibytes = number_after(root / "proc/self/status", "VmHWM:");
  return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
}

void keep_freed_memory() {
#ifdef __GLIBC__
  // The largest that glibc takes. Without it a threshold for the top of the heap also ends glibc's
  // own growth of this one, and blocks of 128 KiB would go back.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

}  // namespace kappascope
