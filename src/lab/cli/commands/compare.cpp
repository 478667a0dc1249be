// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/json_line.h"
#include "cli/say.h"
#include "core/atomic_file.h"
#include "core/notice.h"
#include "kappascope/core/error.h"
#include "kappascope/reports/report.h"
#include "kappascope/store/schema/series.h"
#include "lab/cli/commands/commands.h"
#include "lab/cli/study/terminal.h"
#include "lab/report/page.h"
#include "lab/study/metrics.h"
#include "lab/study/result.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

/// The control of the study that left its result in one of the folders; otherwise the arm of the
/// first run.
std::string default_control(const std::vector<study::StudyResult>& stored,
                            const std::vector<study::RunEnd>& runs) {
  for (const auto& result : stored) {
    auto control = result.control();
    if (std::ranges::find(runs, control, &study::RunEnd::arm) != runs.end()) return control;
  }
  return runs.front().arm;
}

/// The name of the only folder; empty of several.
std::string title_of(const std::vector<fs::path>& paths) {
  if (paths.size() != 1) return "";
  const auto path = fs::absolute(paths.front()).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

/// Leaves out the runs in a study's folder that are none of its own any more, and says so.
void leave_out_former(const fs::path& folder,
                      const study::StudyResult& stored,
                      std::vector<study::RunEnd>& runs) {
  if (stored.folders.empty()) return;
  const auto left = std::erase_if(runs, [&](const study::RunEnd& run) {
    return run.dir.parent_path() == (folder / "").parent_path() &&
           std::ranges::find(stored.folders, run.dir.filename().string()) == stored.folders.end();
  });
  if (left > 0) {
    notice(
        "kappascope: {} runs in {} are left out: the study that is stored there has no such runs "
        "(name their folders to compare them)\n",
        left,
        folder.string());
  }
}

/// With what is derived from series, and what it means.
std::string metric_help() {
  std::string text =
      "quantity to compare, at its last step; repeatable (default: loss/test). NAME@median is its "
      "median over steps. Of layers: the median over layers. Derived from them:";
  for (const auto& derived : study::derived_metrics())
    text += fmt::format(" {}: {};", derived.id.name(), derived.meaning);
  text.back() = '.';
  return text;
}

}  // namespace

int run_compare(const Arguments& arguments) {
  std::vector<std::string> words, metrics;
  std::string control, out;
  Usage usage;
  usage.synopsis =
      "kappascope compare RUN_OR_FOLDER... [--control ARM] [--metric NAME]... [--out FILE.html]";
  usage.text =
      "Compare the arms of a study with its control. An arm is all runs with one label; runs of\n"
      "one seed (and one condition) form a pair. For each arm: the mean difference, its 95 %\n"
      "interval, and a p-value corrected for the number of comparisons (Holm). Where no "
      "difference\n"
      "is found, the smallest detectable one is printed. With --out the comparison is also "
      "written\n"
      "as an offline HTML page with curves: the median over seeds, and a band from the lowest to\n"
      "the highest that they allow.\n\n"
      "example: kappascope compare runs/pgb-mlp-mnist --control 'no bias' --metric accuracy/test";
  usage.options.add_options()("help,h", "print this help")(
      "run", po::value(&words)->required(), "runs, or folders of runs")(
      "control",
      po::value(&control)->value_name("ARM"),
      "label of the arm to compare with (default: the control of the study, otherwise the label of "
      "the first run)")(
      "metric", po::value(&metrics)->composing()->value_name("NAME"), metric_help().c_str())(
      "out", po::value(&out)->value_name("FILE.html"), "write the page to this file")(
      "json", po::bool_switch(), "print the comparisons as JSON");
  add_force(usage);
  usage.positional = "run";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (!out.empty()) check_output(out, reports::kPageMark, values);
  if (metrics.empty()) metrics = {store::id::kLossTest};
  const std::vector<fs::path> paths(words.begin(), words.end());
  auto runs = study::read_run_ends(paths);
  std::vector<study::StudyResult> stored;
  std::vector<fs::path> read;
  for (const auto& path : paths) {
    if (!study::has_result(path)) continue;
    stored.push_back(study::read_result(path));
    read.push_back(path / "study");
    leave_out_former(path, stored.back(), runs);
  }
  for (const auto& run : runs) read.push_back(run.dir);
  const bool damaged = warn_of_damage(read);
  if (control.empty()) control = default_control(stored, runs);
  auto result = study::summarise(runs, {control}, metrics);
  if (result.comparisons.empty()) {
    const bool alone =
        std::ranges::all_of(runs, [&](const auto& run) { return run.arm == control; });
    throw UsageError("there is nothing to compare: " +
                     (alone ? "all runs are of arm '" + control + "'"
                            : "no arm shares a condition with '" + control + "'"));
  }
  for (const auto& study : stored)
    result.verdicts.insert(result.verdicts.end(), study.verdicts.begin(), study.verdicts.end());
  if (!out.empty()) write_text_atomically(out, reports::study_page(result, runs, title_of(paths)));
  if (values["json"].as<bool>()) {
    print_json_text(study::comparisons_json(result.comparisons));
  } else {
    print_comparisons(result.comparisons);
    say("\np is corrected for all comparisons above\n");
    if (!out.empty()) say("\n{}\n", out);
  }
  return damaged ? 1 : 0;
}

}  // namespace kappascope::cli
