// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <utility>

#include "core/printable.h"

namespace kappascope::cli {

/// Prints formatted text on standard output, with nothing in its lines that a terminal would obey:
/// names and messages in it may come from a stranger's files. Line breaks stay: a value that must
/// not begin a line of its own passes printable() first.
template <typename... Values>
void say(fmt::format_string<Values...> text, Values&&... values) {
  fmt::print("{}", printable_lines(fmt::format(text, std::forward<Values>(values)...)));
}

}  // namespace kappascope::cli
