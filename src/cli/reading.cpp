// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

namespace kappascope::cli {

CommandGroup reading_commands() {
  return {
      "Runs",
      {{"report", "one HTML page, or figures, about one or several runs", run_report},
       {"watch", "the report's page in a browser, live while runs are written", run_watch},
       {"advise", "what a run's numbers ask for: rate, batch, bias, norm, precision", run_advise},
       {"runs", "list runs: state, date, duration, steps, losses, worst kappa", run_runs},
       {"export", "a run's numbers as CSV, JSON lines or NPZ", run_export},
       {"annotate", "label, note, archive: what a person says of a run", run_annotate},
       {"check", "what is damaged in a run: its database and its checkpoints", run_check}}};
}

}  // namespace kappascope::cli
