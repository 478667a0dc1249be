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
      "Says of each down-projection what the mean of its features costs, and what a post-gating\n"
      "bias, an output bias or neither would do about it: factors of the condition number and of\n"
      "the gradient's variance with intervals, from what the run measured last, and what the "
      "theory\n"
      "does not promise.\n\n"
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
