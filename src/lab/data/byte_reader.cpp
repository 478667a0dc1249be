// SPDX-License-Identifier: Apache-2.0
#include "lab/data/byte_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/own_files.h"
#include "core/require.h"

namespace kappascope::data {
namespace {

// zlib's gzread reads plain files as they are, so one path serves both.
gzFile open_to_read(const std::filesystem::path& path) {
  require_regular(path);
  return gzopen(path.c_str(), "rb");
}

}  // namespace

ByteReader::ByteReader(const std::filesystem::path& path)
    : path_(path.string()), file_(open_to_read(path), gzclose) {
  require(file_ != nullptr, "cannot open {}", path_);
  gzbuffer(file_.get(), 1U << 18U);
}

void ByteReader::require_room(std::size_t bytes) const {
  require(bytes <= kSmallSet || bytes / kLargestExpansion <= std::filesystem::file_size(path_),
          "{} unpacks to {} bytes or more, over {} times its size, as no data does: unpack it with "
          "gunzip if it is meant",
          path_,
          bytes,
          kLargestExpansion);
}

std::size_t ByteReader::read_some(std::uint8_t* out, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const auto chunk = static_cast<unsigned>(std::min<std::size_t>(bytes - done, 1U << 30U));
    const int got = gzread(file_.get(), out + done, chunk);
    // A packed file that is cut off ends without an error but with one to be asked for.
    int code = Z_OK;
    const char* what = got <= 0 ? gzerror(file_.get(), &code) : "";
    if (got < 0 || code != Z_OK) {
      throw Error(fmt::format("{} is truncated or damaged after {} bytes ({})", path_, done, what));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  total_ += done;
  require_room(total_);
  return done;
}

void ByteReader::read(std::uint8_t* out, std::size_t bytes) {
  const auto got = read_some(out, bytes);
  require(
      got == bytes, "{} is truncated or damaged: {} of {} bytes could be read", path_, got, bytes);
}

std::uint32_t ByteReader::read_big_endian() {
  std::uint8_t b[4];
  read(b, 4);
  return (std::uint32_t{b[0]} << 24U) | (std::uint32_t{b[1]} << 16U) | (std::uint32_t{b[2]} << 8U) |
         b[3];
}

void ByteReader::expect_end() {
  std::uint8_t extra = 0;
  const int got = gzread(file_.get(), &extra, 1);
  require(got >= 0, "{} is truncated or damaged: its checksum does not fit", path_);
  require(got == 0, "{} holds more bytes than its header announces", path_);
}

}  // namespace kappascope::data
