// SPDX-License-Identifier: Apache-2.0
// The program without its laboratory, which pip installs: it reads runs, and needs no LibTorch.
#include "cli/checkpoints.h"
#include "cli/outcome.h"
#include "cli/program.h"

namespace kappascope::cli {

// Their format is the trainer's.
CheckedCheckpoints check_checkpoints(const std::filesystem::path& /*run*/) {
  CheckedCheckpoints none;
  none.looked = false;
  return none;
}

}  // namespace kappascope::cli

int main(int argc, char** argv) {
  namespace cli = kappascope::cli;
  return cli::status_of([&] {
    return cli::run_program(
        {argv + 1, argv + argc},
        {cli::reading_commands()},
        " (`./quickstart` builds the program that trains and decides claims too)");
  });
}
