// SPDX-License-Identifier: Apache-2.0
#include "core/wrap.h"

#include <algorithm>
#include <sstream>

namespace kappascope {

std::size_t characters(std::string_view text) {
  const auto begins = [](unsigned char byte) { return (byte & 0xC0U) != 0x80U; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::string wrapped(const std::string& text, const TextBlock& block) {
  std::istringstream words(text);
  std::string out;
  std::size_t column = block.column;
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && column + 1 + characters(word) > block.width) {
      out += '\n' + std::string(block.indent, ' ');
      column = block.indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += characters(word);
  }
  return out + '\n';
}

}  // namespace kappascope
