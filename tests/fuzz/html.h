// SPDX-License-Identifier: Apache-2.0
// What holds of every piece of a page.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz.h"

namespace kappascope::fuzz {

/// Ends the program unless every '<' begins a tag of those that our writers make, with attributes
/// of those that they make, each quoted, and every tag is closed in its turn. Then no text has left
/// its place: one that makes markup would have to make a tag or an attribute. Returns the tags.
inline std::string check_html(std::string_view html) {
  static constexpr std::array<std::string_view, 23> kTags = {
      "a",   "b",       "code", "dd",      "details", "div",   "dl", "dt", "h2",    "h3", "li", "p",
      "pre", "section", "span", "summary", "table",   "tbody", "td", "th", "thead", "tr", "ul"};
  static constexpr std::array<std::string_view, 15> kAttributes = {"aria-label",
                                                                   "aria-labelledby",
                                                                   "class",
                                                                   "data-csv",
                                                                   "data-finding",
                                                                   "data-findings",
                                                                   "data-key",
                                                                   "data-svg",
                                                                   "download",
                                                                   "href",
                                                                   "id",
                                                                   "role",
                                                                   "scope",
                                                                   "tabindex",
                                                                   "title"};
  const auto known = [](const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::string tags;
  std::vector<std::string_view> open;
  for (std::size_t at = 0; (at = html.find_first_of("<>", at)) != html.npos;) {
    expect(html[at] == '<', "a '>' stands only at the end of a tag");
    const auto take = [&](const auto& belongs) {
      const auto begin = at;
      while (at < html.size() && belongs(html[at])) ++at;
      return html.substr(begin, at - begin);
    };
    const auto is_name = [](char c) {
      return (c >= 'a' && c <= 'z') || c == '-' || c == '2' || c == '3';
    };
    const bool closing = html.substr(++at, 1) == "/";
    if (closing) ++at;
    const auto name = take(is_name);
    expect(known(kTags, name), "a tag is one of ours");
    tags += closing ? '/' : '<';
    tags += name;
    if (closing) {
      expect(!open.empty() && open.back() == name, "tags close in their turn");
      open.pop_back();
    } else {
      open.push_back(name);
    }
    while (html.substr(at, 1) == " ") {
      ++at;
      const auto attribute = take(is_name);
      expect(!closing && known(kAttributes, attribute), "an attribute is one of ours");
      expect(html.substr(at, 2) == "=\"", "an attribute is quoted");
      at += 2;
      const auto value = take([](char c) { return c != '"'; });
      expect(value.find_first_of("<>'") == value.npos, "an attribute holds no markup");
      expect(attribute != "href" || value.starts_with('#'), "a link leads into the page");
      tags += ' ';
      tags += attribute;
      expect(at < html.size(), "an attribute ends");
      ++at;
    }
    expect(html.substr(at, 1) == ">", "a tag ends");
    ++at;
  }
  expect(open.empty(), "every tag is closed");
  return tags;
}

}  // namespace kappascope::fuzz
