// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kappascope::tensor {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;
/// Texts by name, which the format keeps beside the tensors.
using Metadata = std::map<std::string, std::string>;

/// A file of named tensors in the format of the safetensors library: 8 bytes, little-endian, with
/// the length of a JSON header, the header, and the numbers. The file is mapped: tensors that are
/// not read cost nothing.
class SafetensorsFile {
 public:
  struct Entry {
    at::ScalarType type{};
    std::vector<std::int64_t> shape;
    std::size_t begin = 0, end = 0;  ///< bytes, from the first after the header
  };

  /// Checks the whole header against the file's size. Throws Error naming the path and what is
  /// wrong: not there, cut off, a header that is no JSON, a type that is unknown, a shape that does
  /// not fit its bytes, tensors that overlap or leave a gap, a name that stands there twice.
  explicit SafetensorsFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::map<std::string, Entry>& entries() const { return entries_; }
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  /// Reads the whole file and throws Error unless it is what write_safetensors wrote: its CRC-32 is
  /// among the metadata.
  void require_whole() const;
  /// A tensor on the host, in the file's type, whose numbers are those of the mapped file, which
  /// stays mapped for as long as the tensor lives; to be read only. Throws Error when there is no
  /// such name.
  [[nodiscard]] at::Tensor mapped(const std::string& name) const;
  /// Writes the numbers into `target` of the same shape, converting type and device.
  void read_into(const std::string& name, const at::Tensor& target) const;

 private:
  [[nodiscard]] const Entry& entry(const std::string& name) const;

  std::filesystem::path path_;
  std::shared_ptr<const std::byte> file_;     ///< mapped
  std::shared_ptr<const std::byte> numbers_;  ///< of it, from the first number on
  std::size_t size_ = 0;                      ///< bytes of numbers
  std::map<std::string, Entry> entries_;
  Metadata metadata_;
};

/// What stands at the beginning of the header of a file that write_safetensors wrote.
inline constexpr std::string_view kSafetensorsMark = R"({"__metadata__":{"crc32":")";

/// Writes the tensors in the order given, one at a time, and a checksum; the file is there whole or
/// not at all. Types: bool, integers of 8 to 64 bits, f16, bf16, f32, f64. Throws Error.
void write_safetensors(const std::filesystem::path& path,
                       const NamedTensors& tensors,
                       const Metadata& metadata = {});

}  // namespace kappascope::tensor
