// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fmt/format.h>

#include "cli/say.h"
#include "kappascope/core/closest.h"
#include "kappascope/core/error.h"
#include "kappascope/core/version.h"

namespace kappascope::cli {
namespace {

void print_help(const std::vector<CommandGroup>& groups) {
  say("Kappascope {}: measures the conditioning of a gated network during training\n\n"
      "usage: kappascope COMMAND [options]\n",
      version());
  for (const auto& group : groups) {
    say("\n{}:\n", group.about);
    for (const auto& command : group.commands) say("  {:<10}{}\n", command.name, command.summary);
  }
  say("\n`kappascope COMMAND --help` explains a command. Results go to stdout, everything else to\n"
      "stderr. Exit status: 0 success, 1 error, 2 wrong usage, 130 interrupted");
  for (const auto& group : groups) say("{}", group.statuses);
  say(".\n");
}

}  // namespace

int run_program(const Arguments& words,
                const std::vector<CommandGroup>& groups,
                const std::string& elsewhere) {
  if (words.empty()) {
    print_help(groups);
    return 2;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help(groups);
    return 0;
  }
  if (words[0] == "--version") {
    say("kappascope {}\n", version());
    return 0;
  }
  std::vector<std::string> names;
  for (const auto& group : groups) {
    for (const auto& command : group.commands) {
      if (words[0] == command.name) return command.run({words.begin() + 1, words.end()});
      names.emplace_back(command.name);
    }
  }
  const auto near = closest(words[0], names);
  throw UsageError(fmt::format("unknown command '{}'{}",
                               words[0],
                               near.empty() ? "; --help lists them" + elsewhere
                                            : fmt::format(": did you mean '{}'?", near)));
}

}  // namespace kappascope::cli
