// SPDX-License-Identifier: Apache-2.0
// The program is a list of commands: those that read runs, and, where the laboratory is built, its
// own.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace kappascope::cli {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Arguments&);
};

struct CommandGroup {
  const char* about;  ///< what they do, over their names in --help
  std::vector<Command> commands;
  const char* statuses = "";  ///< exit statuses that they alone have, for --help
};

/// The commands that read runs; they need no LibTorch.
CommandGroup reading_commands();

/// Runs the command that the first word names, and returns the exit status. Throws UsageError for
/// another word, ending with `elsewhere` where it comes near no command.
int run_program(const Arguments& words,
                const std::vector<CommandGroup>& groups,
                const std::string& elsewhere = "");

}  // namespace kappascope::cli
