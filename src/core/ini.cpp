// SPDX-License-Identifier: Apache-2.0
#include "core/ini.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <sstream>

#include "kappascope/core/error.h"

namespace kappascope {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // skipped where a text begins

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

/// Not where blanks, brackets or marks of comments in the name mean something to the format.
bool reads_back(const std::string& section, const std::string& rest, const std::string& line) {
  return !rest.empty() && rest == trimmed(rest) && rest.front() != ';' &&
         rest.find_first_of("=#\n") == std::string::npos && rest.find(" ;") == std::string::npos &&
         rest.find("\t;") == std::string::npos &&
         section.find_first_of("#\n") == std::string::npos &&
         section.find(" ;") == std::string::npos && section.find("\t;") == std::string::npos &&
         !(line.front() == '[' && line.back() == ']') && !line.starts_with(kByteOrderMark);
}

/// Of a line, or of a value from its first letter on: where its comment begins, or its length.
std::size_t comment_of(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool after_blank = i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t';
    if (text[i] == '#' || (text[i] == ';' && after_blank)) return i;
  }
  return text.size();
}

/// What is behind the equals sign: without its comment, or what stands between quotation marks.
std::string value_of(const std::string& text, const std::string& where) {
  const auto value = trimmed(text);
  if (value.empty() || (value.front() != '"' && value.front() != '\''))
    return trimmed(value.substr(0, comment_of(value)));
  const auto end = value.find(value.front(), 1);
  const auto rest = end == std::string::npos ? value : trimmed(value.substr(end + 1));
  if (comment_of(rest) != 0) {
    throw UsageError(fmt::format(
        "{}: a quotation mark is not closed, or something follows it: {}", where, value));
  }
  return value.substr(1, end - 1);
}

/// As value_of() reads it back. Throws UsageError where the format has no way to say it.
std::string quoted_if_needed(const std::string& name, const std::string& value) {
  const bool begins_quoted = !value.empty() && (value.front() == '"' || value.front() == '\'');
  if (value.find('\n') == std::string::npos) {
    if (value == trimmed(value) && !begins_quoted && comment_of(value) == value.size())
      return value;
    for (const char mark : {'"', '\''}) {
      if (value.find(mark) == std::string::npos) return mark + value + mark;
    }
  }
  throw UsageError(
      fmt::format("the setting {} cannot be written to an INI file: '{}'", name, value));
}

}  // namespace

IniSettings::value_type parse_setting(const std::string& text, const std::string& where) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(fmt::format("{}: expected setting=value, got '{}'", where, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

IniSettings parse_ini(const std::string& text, const std::string& where) {
  IniSettings settings;
  std::string section;
  std::istringstream lines(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size())
                                                            : text);
  for (std::string raw; std::getline(lines, raw);) {
    const auto line = trimmed(raw.substr(0, comment_of(raw)));
    if (line.empty()) continue;
    const auto equals = line.find('=');
    if (line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2) + ".";
      if (section == ".") section.clear();
    } else if (equals != std::string::npos && equals > 0) {
      settings.emplace_back(section + trimmed(line.substr(0, equals)),
                            value_of(raw.substr(raw.find('=') + 1), where));
    } else {
      throw UsageError(
          fmt::format("{}: expected [section] or name = value, got '{}'", where, line));
    }
  }
  return settings;
}

IniSettings read_ini(const std::filesystem::path& file, const std::string& kind) {
  errno = 0;
  std::ifstream in(file);
  if (!in && errno == ENOMEM) throw std::bad_alloc();
  if (!in || std::filesystem::is_directory(file)) {
    throw UsageError(fmt::format(
        "cannot read the {} {}: {}", kind, file.string(), in ? "a folder" : std::strerror(errno)));
  }
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(in), {});
  } catch (const std::ios_base::failure&) {
    throw Error(
        fmt::format("cannot read the {} {}: {}", kind, file.string(), std::strerror(errno)));
  }
  return parse_ini(text, file.string());
}

std::string to_ini(const IniSettings& settings) {
  std::map<std::string, std::map<std::string, std::string>> sections;
  for (const auto& [name, value] : settings) {
    const auto [section, rest] = parted(name);
    const auto written = quoted_if_needed(name, value);
    if (!reads_back(section, rest, fmt::format("{} = {}", rest, written))) {
      throw UsageError(
          fmt::format("the setting {} cannot be written to an INI file: '{}'", name, value));
    }
    sections[section][rest] = written;
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

}  // namespace kappascope
