// SPDX-License-Identifier: Apache-2.0
#include "kappascope/data/safetensors.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "kappascope/core/require.h"

namespace kappascope::data {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian, and are mapped as they are");

namespace fs = std::filesystem;
using Entry = SafetensorsFile::Entry;

const std::vector<std::pair<const char*, at::ScalarType>> kTypes = {{"F32", at::kFloat},
                                                                    {"F16", at::kHalf},
                                                                    {"BF16", at::kBFloat16},
                                                                    {"F64", at::kDouble},
                                                                    {"I64", at::kLong},
                                                                    {"I32", at::kInt},
                                                                    {"I16", at::kShort},
                                                                    {"I8", at::kChar},
                                                                    {"U8", at::kByte},
                                                                    {"BOOL", at::kBool}};

/// Longer headers are refused before anything is parsed, as the format's own library does.
constexpr std::uint64_t kLongestHeader = 100'000'000;

struct Mapping {
  std::shared_ptr<const std::byte> bytes;
  std::size_t size = 0;
};

Mapping map_file(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(file >= 0, "cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  void* start = MAP_FAILED;
  int error = fstat(file, &status) == 0 ? 0 : errno;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (error == 0 && size > 0) {
    start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (start == MAP_FAILED) error = errno;
  }
  close(file);
  require(error == 0, "cannot read {}: {}", path.string(), std::strerror(error));
  if (size == 0) return {};
  return {{static_cast<const std::byte*>(start),
           [size](const std::byte* p) { munmap(const_cast<std::byte*>(p), size); }},
          size};
}

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

/// One tensor of the header. Throws Error without the path, or nlohmann::json::exception.
Entry parse_entry(const nlohmann::json& json, std::size_t size) {
  Entry entry;
  const auto type = json.at("dtype").get<std::string>();
  const auto known =
      std::find_if(kTypes.begin(), kTypes.end(), [&](auto& one) { return type == one.first; });
  require(known != kTypes.end(), "the type {} is not known", type);
  entry.type = known->second;
  entry.shape = json.at("shape").get<std::vector<std::int64_t>>();
  const auto offsets = json.at("data_offsets").get<std::vector<std::size_t>>();
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

std::map<std::string, Entry> parse_header(const char* text, std::size_t length, std::size_t size) {
  const auto json = nlohmann::json::parse(text, text + length);
  require(json.is_object(), "the header is not a JSON object");
  std::map<std::string, Entry> entries;
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") continue;
    try {
      const auto& entry = entries.emplace(name, parse_entry(value, size)).first->second;
      spans.emplace_back(entry.begin, entry.end);
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
    numbers_ = {file.bytes, header + length};
    size_ = file.size - sizeof length - length;
    entries_ = parse_header(reinterpret_cast<const char*>(header), length, size_);
  } catch (const std::exception& error) {
    throw Error(path.string() + " is not a whole safetensors file: " + error.what());
  }
}

const Entry& SafetensorsFile::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  require(found != entries_.end(), "{} has no tensor '{}'", path_.string(), name);
  return found->second;
}

/// On the mapped bytes; to be read only, and not longer than this object lives.
at::Tensor SafetensorsFile::view(const Entry& entry) const {
  auto* start = const_cast<std::byte*>(numbers_.get() + entry.begin);
  const auto bytes = static_cast<std::int64_t>(entry.end - entry.begin);
  const auto size = c10::elementSize(entry.type);
  if (reinterpret_cast<std::uintptr_t>(start) % size == 0) {
    return torch::from_blob(start, entry.shape, entry.type);
  }
  // The format does not promise aligned numbers; this tensor alone is copied.
  return torch::from_blob(start, {bytes}, at::kByte).clone().view(entry.type).view(entry.shape);
}

at::Tensor SafetensorsFile::read(const std::string& name) const {
  return view(entry(name)).clone();
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
  target.copy_(view(one));
}

void write_safetensors(const fs::path& path,
                       const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  auto header = nlohmann::ordered_json::object();
  std::size_t reached = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto type = tensor.scalar_type();
    const auto known =
        std::find_if(kTypes.begin(), kTypes.end(), [&](auto& one) { return type == one.second; });
    require(known != kTypes.end(),
            "'{}' has a type that safetensors has not: {}",
            name,
            c10::toString(type));
    require(!header.contains(name) && name != "__metadata__", "the name '{}' is taken", name);
    const auto end = reached + tensor.nbytes();
    header[name] = {
        {"dtype", known->first}, {"shape", tensor.sizes().vec()}, {"data_offsets", {reached, end}}};
    reached = end;
  }
  auto text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // numbers begin at a multiple of 8
  const std::uint64_t length = text.size();
  auto temporary = path;
  temporary += ".tmp";
  std::ofstream out(temporary, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  for (const auto& [name, tensor] : tensors) {
    const auto flat = tensor.detach().to(at::kCPU).contiguous();
    out.write(static_cast<const char*>(flat.const_data_ptr()),
              static_cast<std::streamsize>(flat.nbytes()));
  }
  out.close();
  require(out.good(), "cannot write {}: {}", temporary.string(), std::strerror(errno));
  fs::rename(temporary, path);
}

}  // namespace kappascope::data
