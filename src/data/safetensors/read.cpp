// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <type_traits>

#include "data/mapped_file.h"
#include "data/safetensors/format.h"
#include "kappascope/core/printable.h"
#include "kappascope/core/require.h"
#include "kappascope/data/safetensors.h"

namespace kappascope::data {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian, and are mapped as they are");

namespace fs = std::filesystem;
using Entry = SafetensorsFile::Entry;

/// Longer headers are refused before anything is parsed, as the format's own library does.
constexpr std::uint64_t kLongestHeader = 100'000'000;

/// Product of `shape` and the type's size; refuses what does not fit 63 bits.
std::size_t bytes_of(const Entry& entry) {
  std::size_t bytes = c10::elementSize(entry.type);
  for (const auto extent : entry.shape) {
    require(extent >= 0, "a negative extent");
    const auto wide = static_cast<std::size_t>(extent);
    require(wide == 0 || bytes <= std::numeric_limits<std::int64_t>::max() / wide,
            "a shape beyond all memory");
    bytes *= wide;
  }
  return bytes;
}

/// The library would cut a fraction off, take true for 1 and -1 for the largest number.
template <typename Number>
std::vector<Number> whole_numbers(const nlohmann::json& json, const char* name) {
  const auto& list = json.at(name);
  const auto whole = [](const nlohmann::json& one) {
    return std::is_signed_v<Number> ? one.is_number_integer() : one.is_number_unsigned();
  };
  require(list.is_array() && std::all_of(list.begin(), list.end(), whole),
          "{} must be whole numbers{}",
          name,
          std::is_signed_v<Number> ? "" : " from 0 on");
  return list.get<std::vector<Number>>();
}

/// One tensor of the header. Throws Error without the path, or nlohmann::json::exception.
Entry parse_entry(const nlohmann::json& json, std::size_t size) {
  Entry entry;
  const auto type = json.at("dtype").get<std::string>();
  const auto known = std::find_if(kSafetensorsTypes.begin(),
                                  kSafetensorsTypes.end(),
                                  [&](auto& pair) { return type == pair.first; });
  require(known != kSafetensorsTypes.end(), "the type {} is not known", type);
  entry.type = known->second;
  entry.shape = whole_numbers<std::int64_t>(json, "shape");
  const auto offsets = whole_numbers<std::size_t>(json, "data_offsets");
  require(offsets.size() == 2, "data_offsets must be two numbers");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  require(
      entry.begin <= entry.end && entry.end <= size,
      "bytes {} to {} are not among the {} that follow the header: the file is cut off or damaged",
      entry.begin,
      entry.end,
      size);
  require(entry.end - entry.begin == bytes_of(entry), "its shape does not fit its bytes");
  return entry;
}

/// The header's object. JSON readers differ in which of two equal names they take, so two are none.
nlohmann::json parse_names(const char* text, std::size_t length) {
  std::vector<std::set<std::string>> names;  // of each object that is open
  auto json = nlohmann::json::parse(
      text, text + length, [&](int /*depth*/, nlohmann::json::parse_event_t event, auto& value) {
        using Event = nlohmann::json::parse_event_t;
        if (event == Event::object_start) names.emplace_back();
        if (event == Event::object_end) names.pop_back();
        if (event != Event::key) return true;
        require(names.back().insert(value.template get<std::string>()).second,
                "the name {} stands there twice",
                value.dump());
        return true;
      });
  require(json.is_object(), "the header is not a JSON object");
  return json;
}

std::map<std::string, Entry> parse_entries(const nlohmann::json& json, std::size_t size) {
  std::map<std::string, Entry> entries;
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) continue;
    try {
      const auto& entry = entries.emplace(name, parse_entry(value, size)).first->second;
      spans.emplace_back(entry.begin, entry.end);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw Error("tensor '" + name + "': " + error.what());
    }
  }
  std::sort(spans.begin(), spans.end());
  std::size_t reached = 0;
  for (const auto& [begin, end] : spans) {
    require(begin == reached, "its tensors overlap or leave a gap at byte {}", reached);
    reached = end;
  }
  require(reached == size, "{} bytes after the last tensor belong to none", size - reached);
  return entries;
}

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
    const auto json = parse_names(reinterpret_cast<const char*>(header), length);
    entries_ = parse_entries(json, size_);
    if (json.contains(kMetadata)) json.at(kMetadata).get_to(metadata_);
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

const Entry& SafetensorsFile::entry(const std::string& name) const {
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

}  // namespace kappascope::data
