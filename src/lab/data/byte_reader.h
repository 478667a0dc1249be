// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace kappascope::data {

/// What a packed file may unpack to: this, or so many times its own size. Pixels and labels pack to
/// a half or a tenth; gzip can make 1,032 bytes of one.
inline constexpr std::size_t kSmallSet = std::size_t{256} << 20U, kLargestExpansion = 100;

/// Reads a file from its beginning, unpacking it when it is gzipped. Throws Error naming the file.
class ByteReader {
 public:
  explicit ByteReader(const std::filesystem::path& path);
  /// Throws where the file may not hold so many: before memory is asked for them.
  void require_room(std::size_t bytes) const;
  /// Throws when fewer are left.
  void read(std::uint8_t* out, std::size_t bytes);
  /// Reads what is left, up to `bytes`; returns how much that was.
  std::size_t read_some(std::uint8_t* out, std::size_t bytes);
  std::uint32_t read_big_endian();
  void expect_end();

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  std::size_t total_ = 0;  ///< bytes read so far
};

}  // namespace kappascope::data
