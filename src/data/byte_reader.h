// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace kappascope::data {

/// Reads a file from its beginning, unpacking it when it is gzipped. Throws Error naming the file.
class ByteReader {
 public:
  explicit ByteReader(const std::filesystem::path& path);
  /// Throws when fewer are left.
  void read(std::uint8_t* out, std::size_t bytes);
  /// Reads what is left, up to `bytes`; returns how much that was.
  std::size_t read_some(std::uint8_t* out, std::size_t bytes);
  std::uint32_t read_big_endian();
  void expect_end();

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

}  // namespace kappascope::data
