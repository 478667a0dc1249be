// SPDX-License-Identifier: Apache-2.0
#include "store/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <memory>

#include "core/atomic_file.h"
#include "core/require.h"
#include "store/rows/array_codec.h"

namespace kappascope::store {
namespace {

/// The first bytes of a .npy file, version 1.0: magic, version, the length of the text, and the
/// text, padded so that the data starts at a multiple of 64.
std::string npy_header(const std::string& dtype, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kPrefix = 10;
  constexpr std::size_t kAlignment = 64;
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 dtype,
                                 fmt::join(shape, ", "),
                                 shape.size() == 1 ? "," : "");
  const std::size_t unpadded = kPrefix + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  constexpr std::size_t kLongest = 0xFFFF;  // of version 1.0; NumPy has at most 64 extents
  require(text.size() <= kLongest, "an array of {} dimensions is none of NumPy's", shape.size());
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};

struct ZipError : zip_error_t {
  ZipError() : zip_error() { zip_error_init(this); }
  ~ZipError() { zip_error_fini(this); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
};

using Source = std::unique_ptr<zip_source_t, Discard>;

void require_done(bool done, const std::filesystem::path& file, zip_error_t* error) {
  require(done, "cannot write {}: {}", file.string(), zip_error_strerror(error));
}

/// The bytes of an archive in memory.
std::string bytes_of(zip_source_t* source, const std::filesystem::path& file) {
  auto* error = zip_source_error(source);
  require_done(zip_source_open(source) == 0, file, error);
  require_done(zip_source_seek(source, 0, SEEK_END) == 0, file, error);
  const auto size = zip_source_tell(source);
  require_done(size >= 0 && zip_source_seek(source, 0, SEEK_SET) == 0, file, error);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  require_done(zip_source_read(source, bytes.data(), bytes.size()) == size, file, error);
  return bytes;
}

}  // namespace

void Npz::add(const std::string& name,
              const std::vector<std::int64_t>& shape,
              const std::vector<double>& numbers) {
  members_.emplace_back(name + ".npy", npy_header(kArrayDtype, shape) + to_little_endian(numbers));
}

void Npz::add(const std::string& name, const std::vector<std::int64_t>& integers) {
  const std::string bytes(reinterpret_cast<const char*>(integers.data()),
                          integers.size() * sizeof(std::int64_t));
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(integers.size())};
  members_.emplace_back(name + ".npy", npy_header("<i8", shape) + bytes);
}

void Npz::add(const std::string& name, const std::vector<std::string>& texts) {
  std::size_t width = 1;
  for (const std::string& text : texts) width = std::max(width, text.size());
  std::string bytes;
  for (const std::string& text : texts) {
    bytes += text;
    bytes.append(width - text.size(), '\0');
  }
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(texts.size())};
  members_.emplace_back(name + ".npy", npy_header(fmt::format("|S{}", width), shape) + bytes);
}

void Npz::write(const std::filesystem::path& file) const {
  // In memory: given a name, libzip makes a temporary file of its own, which a kill would leave.
  ZipError error;
  const Source whole(zip_source_buffer_create(nullptr, 0, 0, &error));
  require_done(whole != nullptr, file, &error);
  std::unique_ptr<zip_t, Discard> archive(
      zip_open_from_source(whole.get(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  require_done(archive != nullptr, file, &error);
  zip_source_keep(whole.get());  // one is the archive's
  // Midnight of 1 January 1980, the first moment that a zip file knows.
  constexpr zip_uint16_t kTime = 0;
  constexpr zip_uint16_t kDate = (1U << 5U) | 1U;
  for (const auto& [name, content] : members_) {
    Source source(zip_source_buffer(archive.get(), content.data(), content.size(), 0));
    require_done(source != nullptr, file, zip_get_error(archive.get()));
    const zip_int64_t index =
        zip_file_add(archive.get(), name.c_str(), source.get(), ZIP_FL_ENC_UTF_8);
    require_done(index >= 0, file, zip_get_error(archive.get()));
    static_cast<void>(source.release());  // the archive's by now
    zip_file_set_dostime(archive.get(), static_cast<zip_uint64_t>(index), kTime, kDate, 0);
  }
  require_done(zip_close(archive.get()) == 0, file, zip_get_error(archive.get()));
  static_cast<void>(archive.release());  // zip_close has freed it
  write_text_atomically(file, bytes_of(whole.get(), file));
}

}  // namespace kappascope::store
