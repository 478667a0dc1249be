// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/memory.h"

#include <fstream>
#include <string>

namespace kappascope {

std::optional<ResidentMemory> resident_memory() {
  std::ifstream status("/proc/self/status");
  ResidentMemory memory;
  std::string word;
  std::int64_t kibibytes = 0;
  while (status >> word) {
    if (word == "VmHWM:" && status >> kibibytes) memory.peak = kibibytes * 1024;
    if (word == "VmRSS:" && status >> kibibytes) memory.now = kibibytes * 1024;
  }
  if (memory.now == 0 || memory.peak == 0) return std::nullopt;
  return memory;
}

bool forget_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << 5;  // proc(5): resets the peak of the resident set
  file.close();
  return file.good();
}

}  // namespace kappascope
