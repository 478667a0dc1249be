// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace kappascope {

/// The text on one line, with nothing in it that a terminal obeys: a line break is a space, any
/// other control character of ASCII or of U+0080 to U+009F, a mark that changes the order of
/// letters (U+202E and its kind), and what is no UTF-8, is written byte by byte as \xHH. Names and
/// messages that come from files are shown by it.
std::string printable(std::string_view text);

/// The same for each line of a text; its line breaks stay.
std::string printable_lines(std::string_view text);

}  // namespace kappascope
