// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/safetensors/safetensors.h"

namespace kappascope::tensor {

inline constexpr std::array<std::pair<std::string_view, at::ScalarType>, 10> kSafetensorsTypes = {
    {{"F32", at::kFloat},
     {"F16", at::kHalf},
     {"BF16", at::kBFloat16},
     {"F64", at::kDouble},
     {"I64", at::kLong},
     {"I32", at::kInt},
     {"I16", at::kShort},
     {"I8", at::kChar},
     {"U8", at::kByte},
     {"BOOL", at::kBool}}};

inline constexpr const char* kMetadata = "__metadata__";

/// Hexadecimal digits of the checksum, which follow the mark.
inline constexpr std::size_t kChecksumDigits = 8;
/// Where they stand in the file.
inline constexpr std::size_t kChecksumAt = sizeof(std::uint64_t) + kSafetensorsMark.size();

/// CRC-32 of a whole file, computed with zeros for its own digits, which it returns.
class SafetensorsChecksum {
 public:
  void add(const void* bytes, std::size_t count);
  [[nodiscard]] std::string digits() const;

 private:
  unsigned long sum_ = 0;
};
std::string safetensors_checksum(const std::byte* file, std::size_t length);

}  // namespace kappascope::tensor
