// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace kappascope {

/// The name of an enumerator: `names` are in the order of the enum, whose last one is `Last`; one
/// name too few or too many does not compile.
template <auto Last, std::size_t kCount>
constexpr const char* name_in(const std::array<const char*, kCount>& names, decltype(Last) value) {
  static_assert(static_cast<std::size_t>(Last) + 1 == kCount);
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace kappascope
