// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace kappascope::testing {

/// A file from its header's text and its numbers' bytes.
inline std::filesystem::path put(const std::filesystem::path& path,
                                 const std::string& header,
                                 const std::string& numbers,
                                 std::int64_t stated_length = -1) {
  const std::uint64_t length =
      stated_length < 0 ? header.size() : static_cast<std::uint64_t>(stated_length);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << header << numbers;
  return path;
}

}  // namespace kappascope::testing
