// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

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

[[noreturn]] void unknown(const std::string& option, const std::string& where, const Usage& usage) {
  auto name = option;
  name.erase(0, name.find_first_not_of('-'));
  const auto near = closest(name, names_of(usage.options));
  throw UsageError(fmt::format(
      "unknown option '{}'{}{}",
      name,
      where,
      near.empty() ? "; --help lists them" : fmt::format(": did you mean '{}'?", near)));
}

void parse_config(const std::string& file, const Usage& usage, po::variables_map& values) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file)) {
    throw UsageError("cannot read the configuration file " + file);
  }
  try {
    const auto parsed = po::parse_config_file(in, usage.options, /*allow_unregistered=*/true);
    const auto known = names_of(usage.options);
    for (const auto& option : parsed.options) {
      if (option.string_key.rfind("arms.", 0) == 0) {
        throw UsageError(file + " is a study of several arms: run it with `kappascope sweep " +
                         file + "`");
      }
      if (std::find(known.begin(), known.end(), option.string_key) == known.end()) {
        unknown(option.string_key, " in " + file, usage);
      }
    }
    po::store(parsed, values);
  } catch (const po::error& error) {
    throw UsageError(file + ": " + error.what());
  }
}

}  // namespace

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

bool parse(const Arguments& arguments, const Usage& usage, po::variables_map& values) {
  po::positional_options_description positional;
  if (!usage.positional.empty()) positional.add(usage.positional.c_str(), usage.positional_count);
  if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end() ||
      std::find(arguments.begin(), arguments.end(), "-h") != arguments.end()) {
    std::ostringstream options;
    options << usage.options;
    fmt::print("usage: {}\n\n{}\n\n{}", usage.synopsis, usage.text, options.str());
    return false;
  }
  try {
    po::store(
        po::command_line_parser(arguments).options(usage.options).positional(positional).run(),
        values);
  } catch (const po::unknown_option& error) {
    unknown(error.get_option_name(), "", usage);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  if (usage.takes_config && values.count("config") != 0) {
    parse_config(values["config"].as<std::string>(), usage, values);
  }
  try {
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  return true;
}

}  // namespace kappascope::cli
