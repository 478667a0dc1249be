// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <utility>

namespace kappascope {

/// Tells the user something on stderr. A terminal that is gone or a full disk behind it is no
/// error: what goes on does not depend on being told about, and a destructor may tell too.
template <typename... Values>
void notice(fmt::format_string<Values...> message, Values&&... values) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), message, std::forward<Values>(values)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace kappascope
