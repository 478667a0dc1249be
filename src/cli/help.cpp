// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <sstream>

#include "core/closest.h"
#include "core/wrap.h"
#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

constexpr std::size_t kWidth = 80, kTextColumn = 30;

constexpr char kUnbroken = '\x1f';  // a blank at which no line ends

/// The words of `text`, wrapped; the cursor stands at `column`, later lines begin at `indent`.
std::string in_lines(const std::string& text, std::size_t column, std::size_t indent) {
  auto out = wrapped(text, {.width = kWidth, .column = column, .indent = indent});
  std::replace(out.begin(), out.end(), kUnbroken, ' ');
  return out;
}

/// Paragraphs are wrapped anew; a line that begins with a blank stays as it is.
std::string prose(const std::string& text) {
  std::string out, paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) out += in_lines(paragraph, 0, 0);
    paragraph.clear();
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool verbatim = line.empty() || line.front() == ' ' || line.rfind("example", 0) == 0;
    if (!verbatim) {
      paragraph += line + ' ';
      continue;
    }
    flush();
    out += line + '\n';
  }
  flush();
  return out;
}

/// The shortest text that reads back to the same value; empty for an empty string.
std::string default_text(const boost::any& value) {
  if (const auto* s = boost::any_cast<std::string>(&value)) return *s;
  if (const auto* b = boost::any_cast<bool>(&value)) return *b ? "true" : "false";
  if (const auto* d = boost::any_cast<double>(&value)) return fmt::format("{}", *d);
  if (const auto* i = boost::any_cast<int>(&value)) return std::to_string(*i);
  if (const auto* l = boost::any_cast<std::int64_t>(&value)) return std::to_string(*l);
  if (const auto* u = boost::any_cast<std::uint64_t>(&value)) return std::to_string(*u);
  return "";
}

/// " (default: VALUE)", or nothing.
std::string default_of(const po::option_description& option) {
  boost::any value;
  if (option.semantic()->max_tokens() == 0 || !option.semantic()->apply_default(value)) return "";
  const auto text = default_text(value);
  return text.empty() ? "" : fmt::format(" (default:{}{})", kUnbroken, text);
}

std::string upper(std::string text) {
  for (char& c : text) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return text;
}

/// What stands for the option's value: the value_name of its declaration, or VALUE.
std::string placeholder(const po::option_description& option, const std::string& otherwise) {
  if (option.semantic()->max_tokens() == 0) return "";
  const auto name = option.semantic()->name();
  const auto own = name.substr(0, name.find(" (="));
  return own.empty() || own == "arg" ? otherwise : own;
}

std::string row(const std::string& left, const std::string& text) {
  auto out = "  " + left;
  std::size_t column = 2 + characters(left);
  if (column + 2 > kTextColumn) {
    out += '\n';
    column = 0;
  }
  out += std::string(kTextColumn - column, ' ');
  return out + in_lines(text, kTextColumn, kTextColumn);
}

std::string option_row(const po::option_description& option) {
  const auto& name = option.long_name();
  auto left = name == "help" ? "-h, --help" : "--" + name;
  const auto value = placeholder(option, "VALUE");
  if (!value.empty()) left += ' ' + value;
  return row(left, option.description() + default_of(option));
}

const po::option_description* find(const Usage& usage, const std::string& name) {
  for (const auto& group : usage.groups) {
    for (const auto& option : group.options.options())
      if (option->long_name() == name) return option.get();
  }
  return nullptr;
}

std::string group_text(const OptionGroup& group) {
  auto out = fmt::format("{}: {}\n", group.name, group.about);
  for (const auto& option : group.options.options()) out += option_row(*option);
  return out;
}

std::string groups_text(const Usage& usage) {
  std::string out = "\nCommon settings\n";
  for (const auto& name : usage.common) {
    if (const auto* option = find(usage, name)) out += option_row(*option);
  }
  const auto command = usage.synopsis.substr(0, usage.synopsis.find(' ', sizeof("kappascope")));
  out += fmt::format("\nMore settings: {} --help GROUP\n", command);
  for (const auto& group : usage.groups) out += row(group.name, group.about);
  return out + row("all", "every group") + "\n" +
         prose(
             "In the file of --config a setting stands as name = value below its section:\n"
             "  [model]\n  bias = post-gating\n"
             "The command line overrides the file.");
}

}  // namespace

std::string positional_name(const Usage& usage) {
  if (usage.positional.empty()) return "";
  const auto* option = usage.options.find_nothrow(usage.positional, /*approx=*/false);
  if (option == nullptr) return "";
  const auto name = placeholder(*option, upper(usage.positional));
  const auto many = usage.positional_count < 0 ? name + "..." : name;
  return option->semantic()->is_required() ? many : "[" + many + "]";
}

std::string help_text(const Usage& usage) {
  auto out = fmt::format("usage: {}\n{}\n", in_lines(usage.synopsis, 7, 7), prose(usage.text));
  if (const auto name = positional_name(usage); !name.empty()) {
    const auto& option = usage.options.find(usage.positional, /*approx=*/false);
    out += "Arguments\n" + row(name, option.description() + default_of(option)) + "\n";
  }
  out += "Options\n";
  for (const auto& option : usage.options.options()) {
    if (option->long_name() == usage.positional) continue;
    out += option->long_name() == "help" && !usage.groups.empty()
               ? row("-h, --help [GROUP]", "show this text, or one group of settings")
               : option_row(*option);
  }
  return usage.groups.empty() ? out : out + groups_text(usage);
}

std::string help_text(const Usage& usage, const std::string& group) {
  std::string all;
  std::vector<std::string> names = {"all"};
  for (const auto& known : usage.groups) {
    if (known.name == group) return group_text(known);
    names.push_back(known.name);
    if (!all.empty()) all += '\n';
    all += group_text(known);
  }
  if (group == "all") return all;
  const auto near = closest(group, names);
  throw UsageError(fmt::format(
      "there is no group of settings '{}'{}",
      group,
      near.empty() ? "; --help lists them" : fmt::format(": did you mean '{}'?", near)));
}

}  // namespace kappascope::cli
