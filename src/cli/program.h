// SPDX-License-Identifier: Apache-2.0
// The program is a list of commands: those that read runs, and those of the part that extends it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/outcome.h"

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

/// What became of the checkpoints of a run.
struct CheckedCheckpoints {
  bool looked = true;  ///< whether this program reads checkpoints
  int whole = 0;
  int old = 0;  ///< of version 0.1, which are not read
  std::vector<std::string> damage{};
};

/// What the laboratory adds to the program that reads runs; empty where it is not built.
struct Extension {
  CommandGroup commands{};
  MessageOf message_of{};  ///< what is said of an error of its libraries
  std::function<CheckedCheckpoints(const std::filesystem::path& run)> check_checkpoints{};
};

/// Registers it, before main begins; returns true, for a constant to be made of.
bool extend(Extension extension);
const Extension& extension();

/// Runs the command that the first word names, and returns the exit status. Throws UsageError for
/// another word.
int run_program(const Arguments& words);

}  // namespace kappascope::cli
