// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kappascope {

/// Number of characters of a UTF-8 text, as a reader counts them.
std::size_t characters(std::string_view text);

/// Where wrapped text stands, all in characters.
struct TextBlock {
  std::size_t width = 80;  ///< no line is longer, unless one word is
  std::size_t column = 0;  ///< where the first line goes on
  std::size_t indent = 0;  ///< blanks before every later line
};

/// The words of `text`, one blank between them, in lines that fit the block; ends with a line
/// break.
std::string wrapped(const std::string& text, const TextBlock& block);

}  // namespace kappascope
