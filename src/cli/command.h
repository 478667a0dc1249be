// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/program_options.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kappascope::cli {

namespace po = boost::program_options;
using Arguments = std::vector<std::string>;

/// Options that configure one thing, shown by `--help NAME`.
struct OptionGroup {
  std::string name;   ///< one word: "model"
  std::string about;  ///< what it configures, in a line
  po::options_description options;
};

/// What a subcommand's command line looks like, for parsing and for --help.
struct Usage {
  std::string synopsis;  ///< "kappascope report RUN... [options]"
  std::string text;      ///< what it does, in a few lines, with an example
  po::options_description options;
  std::string positional;    ///< name of the positional option; empty for none
  int positional_count = 0;  ///< how many it takes at most; -1 for any number
  bool takes_config = false;
  std::vector<OptionGroup> groups;  ///< further options, too many for one help text
  std::vector<std::string> common;  ///< those of the groups that plain --help shows
};

/// Adds --force: an output file that this command did not write is replaced only with it.
void add_force(Usage& usage);

/// Throws Error where `file` may not be written: see require_replaceable. Asked before the work.
void check_output(const std::filesystem::path& file,
                  std::string_view mark,
                  const po::variables_map& values);

/// Settings as Boost.Program_options takes them from a file.
po::parsed_options as_parsed(const std::vector<std::pair<std::string, std::string>>& settings,
                             const po::options_description& options);

/// Parses `arguments`; an INI file given with --config supplies what the command line does not.
/// Prints help and returns false for --help [GROUP]. Throws UsageError, with a suggestion for an
/// unknown option, on the command line and in the file.
bool parse(const Arguments& arguments, const Usage& usage, po::variables_map& values);

/// What the library says of an error. It puts the user's text into a template until no placeholder
/// is left, without an end where the text holds one ("%value%"): here a % before a letter is
/// printed with a blank behind it.
std::string message_of(po::error& error);

/// Says on stderr what is damaged in the databases of these runs, and is therefore left out; true
/// where anything is: the command then ends with status 1. One pass over the files.
bool warn_of_damage(const std::vector<std::filesystem::path>& runs);

// One subcommand a file; each returns the exit status.
int run_demo(const Arguments& arguments);
int run_report(const Arguments& arguments);
int run_runs(const Arguments& arguments);
int run_export(const Arguments& arguments);
int run_annotate(const Arguments& arguments);
int run_check(const Arguments& arguments);
int run_advise(const Arguments& arguments);
int run_watch(const Arguments& arguments);

}  // namespace kappascope::cli
