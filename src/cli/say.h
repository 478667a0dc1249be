// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <utility>

#include "core/printable.h"

namespace kappascope::cli {

/// Prints printable_format() on standard output: names and messages may come from a stranger's
/// files.
template <typename... Values>
void say(fmt::format_string<Shown<Values>...> text, Values&&... values) {
  fmt::print("{}", printable_format(text, std::forward<Values>(values)...));
}

}  // namespace kappascope::cli
