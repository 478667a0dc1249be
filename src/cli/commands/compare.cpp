// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/study/comparison.h"
#include "kappascope/core/error.h"

namespace kappascope::cli {

int run_compare(const Arguments& arguments) {
  std::vector<std::string> paths, metrics;
  std::string control;
  Usage usage;
  usage.synopsis = "kappascope compare RUN_OR_FOLDER... [--control ARM] [--metric NAME]...";
  usage.text =
      "What the arms of a study differ by: the mean of the differences between runs of one seed\n"
      "(and one condition), its 95 % interval, and a p-value corrected for the number of\n"
      "comparisons made (Holm). Where nothing is found it says how large a difference would have\n"
      "been. An arm is all runs of one label.\n\n"
      "example: kappascope compare runs/pgb-mlp --control 'no bias' --metric accuracy/test";
  usage.options.add_options()("help,h", "this text")(
      "run", po::value(&paths)->required(), "runs, or folders that hold them")(
      "control",
      po::value(&control),
      "arm with which the others are compared (default: the first run's)")(
      "metric",
      po::value(&metrics)->composing(),
      "as the store names it, of the whole model, at its last step; may be given several times "
      "(default: loss/test)")("json", po::bool_switch(), "print JSON");
  usage.positional = "run";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (metrics.empty()) metrics = {"loss/test"};
  const auto ends = read_ends({paths.begin(), paths.end()});
  if (control.empty()) control = ends.front().arm;
  const auto comparisons = compare_runs(ends, control, metrics);
  if (comparisons.empty()) {
    throw UsageError("there is nothing to compare: all runs are of arm '" + control + "'");
  }
  if (values["json"].as<bool>()) {
    fmt::print("{}\n", comparisons_json(comparisons).dump());
  } else {
    print_comparisons(comparisons);
  }
  return 0;
}

}  // namespace kappascope::cli
