// SPDX-License-Identifier: Apache-2.0
#include "store/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "kappascope/core/atomic_file.h"
#include "kappascope/core/error.h"
#include "store/array_codec.h"

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
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& cause) {
  throw Error(fmt::format("cannot write {}: {}", file.string(), cause));
}

}  // namespace

void Npz::add(const std::string& name,
              const std::vector<std::int64_t>& shape,
              const std::vector<double>& numbers) {
  members_.emplace_back(name + ".npy", npy_header(kArrayDtype, shape) + to_little_endian(numbers));
}

void Npz::add(const std::string& name, const std::vector<std::int64_t>& integers) {
  std::string bytes(integers.size() * sizeof(std::int64_t), '\0');
  if (!integers.empty()) std::memcpy(bytes.data(), integers.data(), bytes.size());
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
  write_atomically(file, [&](const std::filesystem::path& temporary) {
    int code = 0;
    std::unique_ptr<zip_t, Discard> archive(
        zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
    if (!archive) {
      zip_error_t error;
      zip_error_init_with_code(&error, code);
      const std::string cause = zip_error_strerror(&error);
      zip_error_fini(&error);
      fail(file, cause);
    }
    // Midnight of 1 January 1980, the first moment that a zip file knows.
    constexpr zip_uint16_t kTime = 0;
    constexpr zip_uint16_t kDate = (1U << 5U) | 1U;
    for (const auto& [name, content] : members_) {
      zip_source_t* source = zip_source_buffer(archive.get(), content.data(), content.size(), 0);
      const zip_int64_t index =
          source == nullptr ? -1
                            : zip_file_add(archive.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8);
      if (index < 0) {
        const std::string cause = zip_strerror(archive.get());
        zip_source_free(source);
        fail(file, cause);
      }
      zip_file_set_dostime(archive.get(), static_cast<zip_uint64_t>(index), kTime, kDate, 0);
    }
    if (zip_close(archive.get()) != 0) fail(file, zip_strerror(archive.get()));
    static_cast<void>(archive.release());  // zip_close has freed it
  });
}

}  // namespace kappascope::store
