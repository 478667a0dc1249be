// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kappascope {

/// The text on one line, with nothing in it that a terminal obeys: a line break is a space, any
/// other control character of ASCII or of U+0080 to U+009F, a mark that changes the order of
/// letters (U+202E and its kind), and what is no UTF-8, is written byte by byte as \xHH. Names and
/// messages that come from files are shown by it.
std::string printable(std::string_view text);

/// The same for each line of a text; its line breaks stay.
std::string printable_lines(std::string_view text);

/// Text whose line breaks the program itself made, as those of a table.
struct Lines {
  std::string text;
};

template <typename Value>
concept IsLines = std::same_as<std::remove_cvref_t<Value>, Lines>;
template <typename Value>
concept IsText = std::convertible_to<Value, std::string_view>;

/// The type of what printable_format() prints in place of a value.
template <typename Value>
using Shown = std::conditional_t<IsText<Value> || IsLines<Value>, std::string, Value>;

template <typename Value>
Shown<Value> shown(Value&& value) {
  if constexpr (IsText<Value>) {
    return printable(value);
  } else if constexpr (IsLines<Value>) {
    return printable_lines(value.text);
  } else {
    return std::forward<Value>(value);
  }
}

/// fmt::format() for a terminal: a value that is text begins no line of its own, unless it is
/// Lines, and nothing in it is obeyed.
template <typename... Values>
std::string printable_format(fmt::format_string<Shown<Values>...> text, Values&&... values) {
  return fmt::format(text, shown(std::forward<Values>(values))...);
}

}  // namespace kappascope
