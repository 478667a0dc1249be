// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "core/printable.h"

namespace kappascope {

/// Tells the user something on stderr. A terminal that is gone or a full disk behind it is no
/// error: what goes on does not depend on it, and a destructor may call this too. A value that is
/// text begins no line and holds nothing that a terminal obeys (printable_format()).
template <typename... Values>
void notice(fmt::format_string<Shown<Values>...> message, Values&&... values) {
  const auto text = printable_format(message, std::forward<Values>(values)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace kappascope
