// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace kappascope {

/// Deeper than anything that we write; what is deeper in a stranger's file stays a text.
inline constexpr std::size_t kDeepestJson = 100;

/// How deep the brackets of a JSON text lie in each other; of other texts, any number. What writes
/// JSON calls itself once a level, so that a text of brackets alone would end the program.
std::size_t json_depth(std::string_view json);

}  // namespace kappascope
