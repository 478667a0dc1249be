// SPDX-License-Identifier: Apache-2.0
// What the targets that read safetensors files share.
#pragma once

#include <algorithm>
#include <cctype>

#include "fuzz/fuzz.h"
#include "tensor/safetensors/format.h"

namespace kappascope::fuzz {

/// One past the brace that closes the one at `begin`; npos where none does.
inline std::size_t end_of_object(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == '{') {
      ++depth;
    } else if (!quoted && c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// The length of the header, as many bytes of numbers as it announces where they are few, and the
/// checksum where there is one.
inline std::string repair_safetensors(std::string bytes) {
  constexpr std::size_t kStart = sizeof(std::uint64_t), kMost = 20'000;
  if (bytes.size() <= kStart || bytes[kStart] != '{') return bytes;
  auto end = end_of_object(bytes, kStart);
  if (end == bytes.npos) return bytes;
  while (end < bytes.size() && bytes[end] == ' ') ++end;
  bytes.replace(0, kStart, bytes_of(static_cast<std::uint64_t>(end - kStart)));
  std::size_t announced = 0;
  for (auto at = bytes.find("data_offsets"); at < end; at = bytes.find("data_offsets", at + 1)) {
    std::size_t number = 0;
    for (auto i = bytes.find('[', at); i < end && bytes[i] != ']'; ++i) {
      const auto c = static_cast<unsigned char>(bytes[i]);
      number = std::isdigit(c) != 0 ? std::min(number * 10 + (c - '0'), kMost) : 0;
      announced = std::max(announced, number);
    }
  }
  if (announced < kMost) bytes.resize(end + announced, 'n');
  const auto digits = tensor::kChecksumAt + tensor::kChecksumDigits;
  if (bytes.size() > digits &&
      bytes.compare(kStart, tensor::kSafetensorsMark.size(), tensor::kSafetensorsMark) == 0) {
    const auto* file = reinterpret_cast<const std::byte*>(bytes.data());
    bytes.replace(tensor::kChecksumAt,
                  tensor::kChecksumDigits,
                  tensor::safetensors_checksum(file, bytes.size()));
  }
  return bytes;
}

/// Bit for bit, as NaN is not equal to itself.
inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         (a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0);
}

}  // namespace kappascope::fuzz
