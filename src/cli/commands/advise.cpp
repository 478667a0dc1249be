// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "cli/json_line.h"
#include "cli/say.h"
#include "core/notice.h"
#include "core/printable.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run_reader.h"
#include "reports/advice.h"

namespace kappascope::cli {

namespace fs = std::filesystem;

int run_advise(const Arguments& arguments) {
  std::string place;
  Usage usage;
  usage.synopsis = "kappascope advise RUN_OR_FOLDER [--json]";
  usage.text =
      "Says what the numbers of a run ask for, in five sentences at most: precision, rate or "
      "warm-up,\n"
      "batch, norm, bias; each with the numbers behind it, what to try, how one would know that "
      "it\n"
      "worked, and what it cannot know. Then, of each down-projection, what the mean of its "
      "features\n"
      "costs, and what a post-gating bias, an output bias or neither would do about it: factors "
      "of\n"
      "the condition number and of the gradient's variance with intervals, and what the theory "
      "does\n"
      "not promise. A folder stands for the runs in it (two levels deep), one after the other.\n\n"
      "example: kappascope advise runs/none";
  usage.options.add_options()("help,h", "show this text")(
      "run", po::value(&place)->required(), "the run, or a folder of runs")(
      "json", po::bool_switch(), "print one JSON object; of a folder one per run and line");
  usage.positional = "run";
  usage.positional_count = 1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  const auto runs = store::runs_at({place});
  const bool damaged = warn_of_damage(runs);
  const bool json = values["json"].as<bool>(), alone = runs == std::vector<fs::path>{place};
  int without = 0;
  for (const auto& run : runs) {
    try {
      const auto found = reports::advice(run);
      if (json) {
        print_json_text(reports::to_json(found, alone ? "" : run.string()));
      } else if (alone) {
        say("{}", Lines{reports::to_text(found)});
      } else {
        say("{}\n{}\n", run.string(), Lines{reports::to_text(found)});
      }
    } catch (const Error& error) {
      if (alone) throw;
      notice("kappascope: error: {}\n", error.what());
      ++without;
    }
  }
  return without > 0 || damaged ? 1 : 0;
}

}  // namespace kappascope::cli
