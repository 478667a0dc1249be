// SPDX-License-Identifier: Apache-2.0
// Whole files as text.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kappascope::testing {

inline std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

}  // namespace kappascope::testing
