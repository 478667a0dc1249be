// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/markdown.h"

namespace kappascope {

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    // Backslashes before a bar part in pairs, of which each is one of the text.
    const auto begin = i;
    while (i < text.size() && text[i] == '\\') ++i;
    const bool bar = i < text.size() && text[i] == '|';
    out.append((i - begin) * (bar ? 2 : 1), '\\');
    if (i == text.size()) break;
    if (bar) out += '\\';
    out += text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
    ++i;
  }
  return out;
}

}  // namespace kappascope
