// SPDX-License-Identifier: Apache-2.0
#include "kappascope/study/settings.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "kappascope/core/error.h"

namespace kappascope::study {
namespace {

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The section of a setting and its name in there. A name that begins with a point has none.
std::pair<std::string, std::string> parted(const std::string& name) {
  const auto dot = name.find('.');
  if (dot == std::string::npos || dot == 0) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

/// Not where blanks or brackets of name or value mean something to the format.
bool reads_back(const std::string& section, const std::string& rest, const std::string& value) {
  const auto line = rest + " = " + value;
  return !rest.empty() && rest == trimmed(rest) && value == trimmed(value) &&
         rest.find_first_of("=#\n") == std::string::npos &&
         section.find_first_of("#\n") == std::string::npos &&
         !(line.front() == '[' && line.back() == ']');
}

}  // namespace

Settings::value_type parse_setting(const std::string& text, const std::string& where) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(fmt::format("{}: expected setting=value, got '{}'", where, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Settings parse_ini(const std::string& text, const std::string& where) {
  Settings settings;
  std::string section;
  std::istringstream lines(text);
  for (std::string raw; std::getline(lines, raw);) {
    const auto line = trimmed(raw.substr(0, raw.find('#')));
    if (line.empty()) continue;
    const auto equals = line.find('=');
    if (line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2) + ".";
      if (section == ".") section.clear();
    } else if (equals != std::string::npos && equals > 0) {
      settings.emplace_back(section + trimmed(line.substr(0, equals)),
                            trimmed(line.substr(equals + 1)));
    } else {
      throw UsageError(
          fmt::format("{}: expected [section] or name = value, got '{}'", where, line));
    }
  }
  return settings;
}

std::string to_ini(const Settings& settings) {
  std::map<std::string, std::map<std::string, std::string>> sections;
  for (const auto& [name, value] : settings) {
    if (value.find_first_of("#\n") != std::string::npos) {
      throw UsageError(
          fmt::format("the setting {} contains '#' or a line break: '{}'", name, value));
    }
    const auto [section, rest] = parted(name);
    if (!reads_back(section, rest, value)) {
      throw UsageError(
          fmt::format("the setting {} cannot be written to an INI file: '{}'", name, value));
    }
    sections[section][rest] = value;
  }
  std::string text;
  for (const auto& [section, values] : sections) {
    if (!section.empty()) text += "[" + section + "]\n";
    for (const auto& [name, value] : values) text += fmt::format("{} = {}\n", name, value);
  }
  return text;
}

std::string first_difference(const std::string& stored, const std::string& wanted) {
  std::istringstream left_lines(stored), right_lines(wanted);
  while (true) {
    std::string left, right;
    const bool more_left = static_cast<bool>(std::getline(left_lines, left));
    const bool more_right = static_cast<bool>(std::getline(right_lines, right));
    if (!more_left && !more_right) return "";
    if (left != right) {
      return fmt::format("{} there, {} now",
                         more_left ? "'" + left + "'" : "nothing",
                         more_right ? "'" + right + "'" : "nothing");
    }
  }
}

}  // namespace kappascope::study
