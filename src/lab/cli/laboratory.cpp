// SPDX-License-Identifier: Apache-2.0
// Adds the laboratory to the program.
#include "cli/program.h"
#include "lab/cli/checkpoints.h"
#include "lab/cli/commands/commands.h"
#include "lab/cli/torch_errors.h"

namespace kappascope::cli {
namespace {

const bool kExtended = extend(
    {.commands =
         {"Training, studies and claims",
          {{"train", "train a gated network with probes attached", run_train},
           {"spectrum",
            "curvature of a trained network: eigenvalues, density, trace",
            run_spectrum},
           {"sweep", "train all runs of a study, side by side, and compare its arms", run_sweep},
           {"compare", "differences between arms, paired by seed, with intervals", run_compare},
           {"results", "what studies found: verdicts of their claims, as a page", run_results},
           {"verify", "decide the claims of the documents by computation", run_verify}},
          ",\n3 unexpected verdict (verify --expect)"},
     .message_of = torch_message,
     .check_checkpoints = check_checkpoints});

}  // namespace
}  // namespace kappascope::cli
