// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/outcome.h"
#include "cli/say.h"
#include "kappascope/core/closest.h"
#include "kappascope/core/error.h"
#include "kappascope/core/version.h"

namespace kappascope {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const cli::Arguments&);
};

constexpr std::array<Command, 14> kCommands = {{
    {"train", "train a gated network with probes attached", cli::run_train},
    {"spectrum", "curvature of a trained network: eigenvalues, density, trace", cli::run_spectrum},
    {"verify", "decide the claims of the documents by computation", cli::run_verify},
    {"report", "one HTML page, or figures, about one or several runs", cli::run_report},
    {"watch", "the report's page in a browser, live while runs are written", cli::run_watch},
    {"advise", "what a run's numbers ask for: rate, batch, bias, norm, precision", cli::run_advise},
    {"alarms", "what the alarms are worth as warnings, on stored runs", cli::run_alarms},
    {"sweep", "train all runs of a study, side by side, and compare its arms", cli::run_sweep},
    {"compare", "differences between arms, paired by seed, with intervals", cli::run_compare},
    {"results", "what studies found: verdicts of their claims, as a page", cli::run_results},
    {"runs", "list runs: state, date, duration, steps, losses, worst kappa", cli::run_runs},
    {"export", "a run's numbers as CSV, JSON lines or NPZ", cli::run_export},
    {"annotate", "label, note, archive: what a person says of a run", cli::run_annotate},
    {"check", "what is damaged in a run: its database and its checkpoints", cli::run_check},
}};

void print_help() {
  cli::say(
      "Kappascope {}: measures the conditioning of a gated network during training\n\n"
      "usage: kappascope COMMAND [options]\n\n",
      version());
  for (const auto& command : kCommands) cli::say("  {:<10}{}\n", command.name, command.summary);
  cli::say(
      "\n`kappascope COMMAND --help` explains a command. Results go to stdout, everything else to\n"
      "stderr. Exit status: 0 success, 1 error, 2 wrong usage, 3 unexpected verdict (verify\n"
      "--expect), 130 interrupted.\n");
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    print_help();
    return 2;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return 0;
  }
  if (words[0] == "--version") {
    cli::say("kappascope {}\n", version());
    return 0;
  }
  std::vector<std::string> names;
  for (const auto& command : kCommands) {
    if (words[0] == command.name) return command.run({words.begin() + 1, words.end()});
    names.emplace_back(command.name);
  }
  const auto near = closest(words[0], names);
  throw UsageError(fmt::format(
      "unknown command '{}'{}",
      words[0],
      near.empty() ? "; --help lists them" : fmt::format(": did you mean '{}'?", near)));
}

}  // namespace
}  // namespace kappascope

int main(int argc, char** argv) {
  return kappascope::cli::status_of([&] { return kappascope::run({argv + 1, argv + argc}); });
}
