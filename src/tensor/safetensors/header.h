// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "tensor/safetensors/safetensors.h"

namespace kappascope::tensor {

struct SafetensorsHeader {
  std::map<std::string, SafetensorsFile::Entry> entries;
  Metadata metadata;
};

/// Parses a header before `size` bytes of numbers. Time grows as n log n with the tensors, memory
/// with what they need; what no header has (a list within a list, more than kMostExtents numbers in
/// one) is refused where it stands. Throws Error without the file's name.
SafetensorsHeader parse_header(std::string_view json, std::size_t size);

/// Of a tensor.
inline constexpr std::size_t kMostExtents = 64;

}  // namespace kappascope::tensor
