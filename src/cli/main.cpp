// SPDX-License-Identifier: Apache-2.0
#include "cli/outcome.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  namespace cli = kappascope::cli;
  return cli::status_of(
      [&] {
        return cli::run_program({argv + 1, argv + argc});
      },
      cli::extension().message_of);
}
