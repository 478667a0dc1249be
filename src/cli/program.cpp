// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fmt/format.h>

#include <utility>

#include "cli/say.h"
#include "core/closest.h"
#include "core/printable.h"
#include "core/version.h"
#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

Extension& registered() {
  static Extension extension;
  return extension;
}

CommandGroup reading_commands() {
  return {
      "Runs",
      {{"demo", "train a small model twice, watched, and open the page (a minute)", run_demo},
       {"report", "one HTML page, or figures, about one or several runs", run_report},
       {"watch", "the report's page in a browser, live while runs are written", run_watch},
       {"advise", "what a run's numbers ask for: rate, batch, bias, norm, precision", run_advise},
       {"runs", "list runs: state, date, duration, steps, losses, worst kappa", run_runs},
       {"export", "a run's numbers as CSV, JSON lines or NPZ", run_export},
       {"annotate", "label, note, archive: what a person says of a run", run_annotate},
       {"check", "what is damaged in a run: its database and its checkpoints", run_check}}};
}

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
  for (const auto& group : groups) say("{}", Lines{group.statuses});
  say(".\n");
}

}  // namespace

bool extend(Extension extension) {
  registered() = std::move(extension);
  return true;
}

const Extension& extension() {
  return registered();
}

int run_program(const Arguments& words) {
  std::vector<CommandGroup> groups = {reading_commands()};
  const bool extended = !extension().commands.commands.empty();
  if (extended) groups.push_back(extension().commands);
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
                               !near.empty() ? fmt::format(": did you mean '{}'?", near)
                               : extended
                                   ? "; --help lists them"
                                   : "; --help lists them (`./quickstart` builds the program that "
                                     "trains and decides claims too)"));
}

}  // namespace kappascope::cli
