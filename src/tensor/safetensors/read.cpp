// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "core/printable.h"
#include "core/require.h"
#include "tensor/safetensors/format.h"
#include "tensor/safetensors/header.h"
#include "tensor/safetensors/mapped_file.h"
#include "tensor/safetensors/safetensors.h"

namespace kappascope::tensor {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian, and are mapped as they are");

namespace fs = std::filesystem;

/// Longer headers are refused before anything is parsed, as the format's own library does.
constexpr std::uint64_t kLongestHeader = 100'000'000;

}  // namespace

SafetensorsFile::SafetensorsFile(const fs::path& path) : path_(path) {
  const auto file = map_file(path);
  try {
    std::uint64_t length = 0;
    require(file.size >= sizeof length, "it is shorter than its first number");
    std::memcpy(&length, file.bytes.get(), sizeof length);
    require(length <= kLongestHeader && length <= file.size - sizeof length,
            "it says that its header has {} bytes, and it has {}",
            length,
            file.size);
    const auto* header = file.bytes.get() + sizeof length;
    file_ = file.bytes;
    numbers_ = {file.bytes, header + length};
    size_ = file.size - sizeof length - length;
    auto parsed = parse_header({reinterpret_cast<const char*>(header), length}, size_);
    entries_ = std::move(parsed.entries);
    metadata_ = std::move(parsed.metadata);
  } catch (const std::bad_alloc&) {
    throw;  // says nothing about the file
  } catch (const std::exception& error) {
    throw Error(path.string() + " is not a whole safetensors file: " + printable(error.what()));
  }
}

void SafetensorsFile::require_whole() const {
  const auto* first = file_.get();
  const std::size_t length = static_cast<std::size_t>(numbers_.get() - first) + size_;
  const std::string_view head(reinterpret_cast<const char*>(first),
                              std::min(length, kChecksumAt + kChecksumDigits));
  require(head.size() == kChecksumAt + kChecksumDigits &&
              head.substr(sizeof(std::uint64_t)).starts_with(kSafetensorsMark),
          "{} holds no checksum: it was not written by Kappascope",
          path_.string());
  const auto found = safetensors_checksum(first, length);
  require(head.substr(kChecksumAt) == found,
          "{} is damaged: its checksum is {} where it says {}",
          path_.string(),
          found,
          printable(head.substr(kChecksumAt)));
}

const SafetensorsFile::Entry& SafetensorsFile::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  require(found != entries_.end(), "{} has no tensor '{}'", path_.string(), name);
  return found->second;
}

at::Tensor SafetensorsFile::mapped(const std::string& name) const {
  const auto& one = entry(name);
  auto* start = const_cast<std::byte*>(numbers_.get() + one.begin);
  const auto bytes = static_cast<std::int64_t>(one.end - one.begin);
  const auto size = c10::elementSize(one.type);
  if (reinterpret_cast<std::uintptr_t>(start) % size == 0) {
    return torch::from_blob(
        start, one.shape, [file = file_](void*) {}, one.type);
  }
  // The format does not promise aligned numbers; this tensor alone is copied.
  return torch::from_blob(start, {bytes}, at::kByte).clone().view(one.type).view(one.shape);
}

void SafetensorsFile::read_into(const std::string& name, const at::Tensor& target) const {
  const auto& one = entry(name);
  require(target.sizes() == at::IntArrayRef(one.shape),
          "{}: '{}' is {} and goes into {}",
          path_.string(),
          name,
          at::IntArrayRef(one.shape),
          target.sizes());
  const torch::NoGradGuard no_grad;
  target.copy_(mapped(name));
}

}  // namespace kappascope::tensor
