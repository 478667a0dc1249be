// SPDX-License-Identifier: Apache-2.0
// Adds the laboratory to the program.
#include <exception>
#include <new>

#include "cli/program.h"
#include "lab/cli/commands/commands.h"
#include "lab/cli/torch_errors.h"
#include "lab/train/checkpoint/checkpoint.h"

namespace kappascope::cli {
namespace {

/// Reads all checkpoints of a run.
CheckedCheckpoints check_checkpoints(const std::filesystem::path& run) {
  CheckedCheckpoints found;
  for (const auto& file : train::checkpoint_files(run)) {
    if (train::checkpoint_step(file) < 0) {
      ++found.old;
      continue;
    }
    try {
      train::read_checkpoint(file);
      ++found.whole;
    } catch (const std::bad_alloc&) {
      throw;  // says nothing about the checkpoint
    } catch (const std::exception& error) {
      found.damage.emplace_back(error.what());
    }
  }
  return found;
}

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
