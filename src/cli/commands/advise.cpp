// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "kappascope/reports/advice.h"

namespace kappascope::cli {

int run_advise(const Arguments& arguments) {
  std::string run;
  Usage usage;
  usage.synopsis = "kappascope advise RUN [--json]";
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
      "not promise.\n\n"
      "example: kappascope advise runs/none";
  usage.options.add_options()("help,h", "show this text")(
      "run", po::value(&run)->required(), "the run")(
      "json", po::bool_switch(), "print one JSON object");
  usage.positional = "run";
  usage.positional_count = 1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  warn_of_damage({run});
  const auto found = reports::advice(run);
  fmt::print("{}",
             values["json"].as<bool>() ? reports::to_json(found) + "\n" : reports::to_text(found));
  return 0;
}

}  // namespace kappascope::cli
