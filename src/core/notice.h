// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "core/printable.h"

namespace kappascope {

/// Tells the user something on stderr. A terminal that is gone or a full disk behind it is no
/// error: what goes on does not depend on being told about, and a destructor may tell too. A
/// terminal obeys nothing in its lines (printable_lines()).
template <typename... Values>
void notice(fmt::format_string<Values...> message, Values&&... values) {
  const auto text = printable_lines(fmt::format(message, std::forward<Values>(values)...));
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace kappascope
