// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/study/comparison.h"
#include "kappascope/core/error.h"
#include "kappascope/reports/comparison.h"
#include "kappascope/store/atomic_file.h"

namespace kappascope::cli {
namespace fs = std::filesystem;

int run_compare(const Arguments& arguments) {
  std::vector<std::string> paths, metrics;
  std::string control, out;
  Usage usage;
  usage.synopsis =
      "kappascope compare RUN_OR_FOLDER... [--control ARM] [--metric NAME]... [--out FILE.html]";
  usage.text =
      "What the arms of a study differ by: the mean of the differences between runs of one seed\n"
      "(and one condition), its 95 % interval, and a p-value corrected for the number of\n"
      "comparisons made (Holm). Where nothing is found it says how large a difference would have\n"
      "been. An arm is all runs of one label. With --out the same as a page that works offline, "
      "with\n"
      "the arms over steps as the median of their seeds and a band from the lowest to the "
      "highest.\n\n"
      "example: kappascope compare runs/pgb-mlp --control 'no bias' --metric accuracy/test";
  usage.options.add_options()("help,h", "this text")(
      "run", po::value(&paths)->required(), "runs, or folders that hold them")(
      "control",
      po::value(&control),
      "arm with which the others are compared (default: the first run's)")(
      "metric",
      po::value(&metrics)->composing(),
      "as the store names it, of the whole model, at its last step; may be given several times "
      "(default: loss/test); NAME@median is its median over steps, spikes/steps and "
      "explosions/share are counted from the loss and the gradient norm")(
      "out", po::value(&out)->value_name("FILE.html"), "write the page")(
      "json", po::bool_switch(), "print JSON");
  usage.positional = "run";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (metrics.empty()) metrics = {"loss/test"};
  const auto ends = store::read_run_ends({paths.begin(), paths.end()});
  if (control.empty()) control = ends.front().arm;
  const auto comparisons = store::compare_runs(ends, control, metrics);
  if (comparisons.empty()) {
    throw UsageError("there is nothing to compare: all runs are of arm '" + control + "'");
  }
  if (!out.empty()) {
    const auto title = paths.size() == 1 ? fs::absolute(paths.front()).lexically_normal() : "";
    const auto name = title.has_filename() ? title.filename() : title.parent_path().filename();
    store::write_text_atomically(
        out,
        reports::html_comparison({{paths.begin(), paths.end()}, control, metrics, name.string()}));
  }
  if (values["json"].as<bool>()) {
    fmt::print("{}\n", comparisons_json(comparisons).dump());
  } else {
    print_comparisons(comparisons);
    if (!out.empty()) fmt::print("\n{}\n", out);
  }
  return 0;
}

}  // namespace kappascope::cli
