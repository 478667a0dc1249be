// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/help.h"
#include "cli/say.h"
#include "core/atomic_file.h"
#include "core/closest.h"
#include "core/ini.h"
#include "core/printable.h"
#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

std::vector<std::string> names_of(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back(option->long_name());
  return names;
}

po::options_description all_options(const Usage& usage) {
  po::options_description all;
  all.add(usage.options);
  for (const auto& group : usage.groups) all.add(group.options);
  return all;
}

[[noreturn]] void unknown(const std::string& option,
                          const std::string& where,
                          const po::options_description& options) {
  auto name = option;
  name.erase(0, name.find_first_not_of('-'));
  const auto near = closest(name, names_of(options));
  throw UsageError(fmt::format(
      "unknown option '{}'{}{}",
      name,
      where,
      near.empty() ? "; --help lists them" : fmt::format(": did you mean '{}'?", near)));
}

constexpr std::array<std::string_view, 4> kNotInFiles = {"out", "save", "resume", "force"};

void parse_config(const std::string& file,
                  const po::options_description& options,
                  po::variables_map& values) {
  const auto settings = read_ini(file, "configuration file");
  const auto known = names_of(options);
  const auto is_of_study = [](const auto& setting) {
    return std::ranges::any_of(std::array{"study.", "arms.", "grid.", "regime."},
                               [&](const char* part) { return setting.first.starts_with(part); });
  };
  if (std::ranges::any_of(settings, is_of_study)) {
    throw UsageError(
        fmt::format("{0} is a study of several arms: run it with `kappascope sweep {0}`", file));
  }
  for (const auto& [name, value] : settings) {
    if (std::ranges::find(known, name) == known.end()) unknown(name, " in " + file, options);
    // A file from elsewhere does not say where something is written, or what is replaced.
    if (std::ranges::find(kNotInFiles, name) != kNotInFiles.end())
      throw UsageError(
          fmt::format("{0} cannot be set in {1}: pass --{0} on the command line", name, file));
  }
  try {
    po::store(as_parsed(settings, options), values);
  } catch (po::error& error) {
    throw UsageError(file + ": " + message_of(error));
  }
}

/// The group after --help, empty for the whole; nothing where no help is asked for.
std::optional<std::string> help_asked(const Arguments& arguments) {
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    if (word->rfind("--help=", 0) == 0) return word->substr(sizeof("--help"));
    if (*word != "--help" && *word != "-h") continue;
    const auto next = word + 1;
    return next == arguments.end() || next->rfind('-', 0) == 0 ? "" : *next;
  }
  return std::nullopt;
}

}  // namespace

po::parsed_options as_parsed(const std::vector<std::pair<std::string, std::string>>& settings,
                             const po::options_description& options) {
  po::parsed_options parsed(&options);
  for (const auto& [name, value] : settings) {
    po::option option(name, {value});
    option.original_tokens = {name, value};
    parsed.options.push_back(std::move(option));
  }
  return parsed;
}

std::string message_of(po::error& error) {
  // The texts are for derived classes, and can be set by all.
  struct Texts : po::error_with_option_name {
    static const std::map<std::string, std::string>& of(const po::error_with_option_name& named) {
      return named.*(&Texts::m_substitutions);
    }
  };
  auto* named = dynamic_cast<po::error_with_option_name*>(&error);
  if (named == nullptr) return error.what();
  for (auto [placeholder, text] : Texts::of(*named)) {
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (text[i - 1] == '%' && std::isalpha(static_cast<unsigned char>(text[i])) != 0)
        text.insert(i, " ");
    }
    named->set_substitute(placeholder, text);
  }
  return error.what();
}

void add_force(Usage& usage) {
  usage.options.add_options()(
      "force", po::bool_switch(), "replace an output file that this command did not write");
}

void check_output(const std::filesystem::path& file,
                  std::string_view mark,
                  const po::variables_map& values) {
  require_replaceable(file, mark, values["force"].as<bool>());
}

bool parse(const Arguments& arguments, const Usage& usage, po::variables_map& values) {
  if (const auto help = help_asked(arguments)) {
    say("{}",
        Lines{help->empty() || usage.groups.empty() ? help_text(usage) : help_text(usage, *help)});
    return false;
  }
  po::positional_options_description positional;
  if (!usage.positional.empty()) positional.add(usage.positional.c_str(), usage.positional_count);
  const auto options = all_options(usage);
  try {
    po::store(po::command_line_parser(arguments).options(options).positional(positional).run(),
              values);
  } catch (const po::unknown_option& error) {
    unknown(error.get_option_name(), "", options);
  } catch (const po::too_many_positional_options_error&) {
    throw UsageError("too many arguments; usage: " + usage.synopsis);
  } catch (po::error& error) {
    throw UsageError(message_of(error));
  }
  if (usage.takes_config && values.count("config") != 0) {
    parse_config(values["config"].as<std::string>(), options, values);
  }
  try {
    po::notify(values);
  } catch (po::required_option& error) {
    if (error.get_option_name() != "--" + usage.positional) throw UsageError(message_of(error));
    throw UsageError(positional_name(usage) + " is missing; usage: " + usage.synopsis);
  } catch (po::error& error) {
    throw UsageError(message_of(error));
  }
  return true;
}

}  // namespace kappascope::cli
