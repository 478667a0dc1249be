// SPDX-License-Identifier: Apache-2.0
#include "reports/html/text.h"

#include <algorithm>
#include <cassert>

namespace kappascope::reports {

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const auto code = static_cast<unsigned char>(c);
        if (code >= 0x20 || c == '\n' || c == '\t') out += c;
      }
    }
  }
  return out;
}

std::string escape_json_for_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string fill_template(
    std::string_view text,
    const std::vector<std::pair<std::string_view, std::string_view>>& values) {
  std::size_t size = text.size();
  for (const auto& [name, value] : values) size += value.size();
  std::string out;
  out.reserve(size);
  while (true) {
    const auto open = text.find("{{");
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const auto close = text.find("}}", open);
    const auto name = text.substr(open + 2, close - open - 2);
    const auto value = std::find_if(
        values.begin(), values.end(), [&](const auto& entry) { return entry.first == name; });
    assert(value != values.end());
    out += value->second;
    text.remove_prefix(close + 2);
  }
}

}  // namespace kappascope::reports
