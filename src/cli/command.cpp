// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "cli/help.h"
#include "kappascope/core/atomic_file.h"
#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

// Edit distance (Levenshtein 1966), one row at a time.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

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

void parse_config(const std::string& file,
                  const po::options_description& options,
                  po::variables_map& values) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file)) {
    throw UsageError("cannot read the configuration file " + file);
  }
  try {
    const auto parsed = po::parse_config_file(in, options, /*allow_unregistered=*/true);
    if (in.bad()) throw Error("cannot read " + file + ": " + std::strerror(errno));
    const auto known = names_of(options);
    for (const auto& option : parsed.options) {
      if (option.string_key.rfind("arms.", 0) == 0) {
        throw UsageError(fmt::format(
            "{} is a study of several arms: run it with `kappascope sweep {}`", file, file));
      }
      if (std::find(known.begin(), known.end(), option.string_key) == known.end()) {
        unknown(option.string_key, " in " + file, options);
      }
    }
    po::store(parsed, values);
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

std::string closest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = word.size() / 3 + 2;
  for (const auto& candidate : known) {
    // An INI user may leave out the section; compare the last part as well.
    const auto tail = candidate.substr(candidate.rfind('.') + 1);
    const auto d = std::min(distance(word, candidate), distance(word, tail));
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
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
    fmt::print("{}",
               help->empty() || usage.groups.empty() ? help_text(usage) : help_text(usage, *help));
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
