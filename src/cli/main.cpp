// SPDX-License-Identifier: Apache-2.0
// The program with its laboratory.
#include "cli/outcome.h"
#include "cli/program.h"
#include "cli/torch_errors.h"

namespace kappascope::cli {
namespace {

CommandGroup laboratory_commands() {
  return {
      "Training, studies and claims",
      {{"train", "train a gated network with probes attached", run_train},
       {"spectrum", "curvature of a trained network: eigenvalues, density, trace", run_spectrum},
       {"sweep", "train all runs of a study, side by side, and compare its arms", run_sweep},
       {"compare", "differences between arms, paired by seed, with intervals", run_compare},
       {"results", "what studies found: verdicts of their claims, as a page", run_results},
       {"alarms", "what the alarms are worth as warnings, on stored runs", run_alarms},
       {"verify", "decide the claims of the documents by computation", run_verify}},
      ",\n3 unexpected verdict (verify --expect)"};
}

}  // namespace
}  // namespace kappascope::cli

int main(int argc, char** argv) {
  namespace cli = kappascope::cli;
  return cli::status_of(
      [&] {
        return cli::run_program({argv + 1, argv + argc},
                                {cli::reading_commands(), cli::laboratory_commands()});
      },
      cli::torch_message);
}
