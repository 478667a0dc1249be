// SPDX-License-Identifier: Apache-2.0
#include "core/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace kappascope {
namespace {

unsigned char byte(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

/// Bytes of the UTF-8 character that begins at i (RFC 3629, section 4), or 0 where none does.
std::size_t character(std::string_view text, std::size_t i) {
  const auto first = byte(text, i), second = byte(text, i + 1);
  const auto follows = [&](std::size_t count) {
    for (std::size_t k = 2; k <= count; ++k) {
      if ((byte(text, i + k) & 0xC0U) != 0x80) return false;
    }
    return (second & 0xC0U) == 0x80;
  };
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool in_range = !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F);
    return in_range && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool in_range = !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second > 0x8F);
    return in_range && follows(3) ? 4 : 0;
  }
  return 0;
}

/// Marks that a terminal obeys: the order of the letters around them is another than that of the
/// text (Unicode's Bidi_Control), and separators of lines and paragraphs.
bool changes_order(std::string_view character) {
  const auto second = byte(character, 1), third = byte(character, 2);
  switch (byte(character, 0)) {
    case 0xD8:
      return second == 0x9C;  // U+061C
    case 0xE2:
      return (second == 0x80 && (third == 0x8E || third == 0x8F ||      // U+200E, U+200F
                                 (third >= 0xA8 && third <= 0xAE))) ||  // U+2028 to U+202E
             (second == 0x81 && third >= 0xA6 && third <= 0xA9);        // U+2066 to U+2069
    default:
      return false;
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character(text, i);
    const auto first = byte(text, i);
    const bool control = length == 0 || first < 0x20 || first == 0x7F ||
                         (first == 0xC2 && byte(text, i + 1) < 0xA0) ||
                         changes_order(text.substr(i, length));
    if (first == '\n' || first == '\r' || first == '\t') {
      out += ' ';
    } else if (control) {
      for (std::size_t k = 0; k < std::max<std::size_t>(length, 1); ++k) {
        out += fmt::format("\\x{:02x}", byte(text, i + k));
      }
    } else {
      out += text.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out += printable(text.substr(0, end));
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace kappascope
