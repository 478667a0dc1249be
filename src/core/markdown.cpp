// SPDX-License-Identifier: Apache-2.0
#include "core/markdown.h"

#include <cctype>

#include "core/printable.h"

namespace kappascope {
namespace {

/// Whether the character at `i` begins something: a tag, an address in brackets, the address of a
/// link, or the next cell.
bool begins(const std::string& text, std::size_t i, bool in_table) {
  if (i >= text.size()) return false;
  const char c = text[i];
  if (c == '(') return i > 0 && text[i - 1] == ']';
  if (c != '<') return in_table && c == '|';
  const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
  return std::isalpha(next) != 0 || next == '/' || next == '!' || next == '?';
}

std::string escaped(const std::string& words, bool in_table) {
  const auto text = printable(words);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    // Backslashes before what is escaped part in pairs, of which each is one of the text.
    const auto first = i;
    while (i < text.size() && text[i] == '\\') ++i;
    const bool is_escaped = begins(text, i, in_table);
    out.append((i - first) * (is_escaped ? 2 : 1), '\\');
    if (i == text.size()) break;
    if (is_escaped) out += '\\';
    out += text[i++];
  }
  return out;
}

}  // namespace

std::string markdown_text(const std::string& text) {
  return escaped(text, false);
}

std::string markdown_cell(const std::string& text) {
  return escaped(text, true);
}

}  // namespace kappascope
