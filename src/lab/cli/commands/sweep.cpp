// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/json_line.h"
#include "cli/say.h"
#include "core/atomic_file.h"
#include "core/notice.h"
#include "kappascope/core/error.h"
#include "lab/cli/commands/commands.h"
#include "lab/cli/study/metrics.h"
#include "lab/cli/study/plan.h"
#include "lab/cli/study/runs.h"
#include "lab/cli/study/terminal.h"
#include "lab/report/markdown.h"
#include "lab/study/study.h"
#include "lab/train/problems/problem.h"
#include "store/database/writer_lock.h"
#include "theory/claim.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

IniSettings changes_from(const std::vector<std::string>& words,
                         const std::string& data,
                         const std::string& device) {
  IniSettings changes;
  if (!device.empty()) changes.emplace_back("train.device", device);
  if (!data.empty()) changes.emplace_back("data.path", data);
  for (const auto& word : words) changes.push_back(parse_setting(word, "--set"));
  return changes;
}

void print_list(const std::vector<study::StudyRun>& runs, const std::string& study, bool as_json) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& run : runs) {
    const auto train = settings_of(run, study).train;
    if (!as_json) {
      say("{}\n", run.name);
      continue;
    }
    list.push_back({{"run", run.name},
                    {"arm", run.arm},
                    {"condition", run.condition},
                    {"seed", run.seed},
                    {"parameters", nullptr}});
    // The size of the other models depends on their data.
    if (train.kind == "language")
      list.back()["parameters"] = train::language_model_parameters(train);
  }
  if (as_json) print_json(list);
}

/// A line for all runs that failed for the same reason.
void report_failures(const std::vector<study::RunFailure>& failures) {
  std::map<std::string, std::vector<std::string>> runs;
  for (const auto& [run, why] : failures) runs[why].push_back(run);
  for (const auto& [why, names] : runs) {
    constexpr std::ptrdiff_t kNamed = 3;
    const auto named = std::min(std::ssize(names), kNamed);
    notice("kappascope: {}{}{} failed: {}\n",
           names.size() == 1 ? "" : fmt::format("{} runs, ", names.size()),
           fmt::format("{}", fmt::join(names.begin(), names.begin() + named, ", ")),
           std::ssize(names) > named ? fmt::format(" and {} more,", std::ssize(names) - named) : "",
           why);
  }
}

/// What the command line asks for.
struct SweepRequest {
  std::string file, out, data, device, seeds;
  int jobs = 1;
  std::vector<std::string> overrides;
  PlanRequest plan;
  po::variables_map values;

  [[nodiscard]] bool is_set(const char* flag) const { return values[flag].as<bool>(); }
};

/// The command line that repeats the study, with its data by name.
std::string command_of(const SweepRequest& asked) {
  auto command = "kappascope sweep " + asked.file;
  if (!asked.data.empty()) command += " --data " + fs::path(asked.data).filename().string();
  for (const auto& change : asked.overrides) command += " --set " + change;
  if (!asked.seeds.empty()) command += fmt::format(" --seeds '{}'", asked.seeds);
  return command;
}

/// Nothing: the help has been printed.
std::optional<SweepRequest> read_sweep_request(const Arguments& arguments) {
  SweepRequest asked;
  Usage usage;
  usage.synopsis = "kappascope sweep STUDY.ini [--jobs N] [--seeds S] [--data PATH] [--out FOLDER]";
  usage.text =
      "Train every run of a study (arms x conditions x seeds), each in its own process, compare\n"
      "each arm with the first by pairs of runs of one seed, and decide the study's claims. Runs,\n"
      "result and its summary RESULTS.md are stored in one folder; `kappascope results` combines\n"
      "several studies. Run the same command again after an interruption: completed runs are\n"
      "skipped, interrupted runs resume. If a run fails, the others continue.\n\n"
      "A study file is a configuration file of `train` with four more sections, the last two of\n"
      "which may be left out:\n\n"
      "  [study]  seeds = 5               (1 to 5; or a list: 1 2 7, or 4-6)\n"
      "           metrics = loss/test accuracy/test\n"
      "  [arms]   no bias = model.bias=none\n"
      "           PGB = model.bias=post-gating\n"
      "  [grid]   model.dropout = 0 0.1 0.3\n"
      "  [regime] P-X4 = loss/test of no bias at most 0.3\n\n"
      "A regime says what the control shows where a claim's document speaks (between A and B, at\n"
      "least A, at most B); conditions whose control shows something else decide nothing.\n\n"
      "example: kappascope sweep experiments/small/pgb-mlp-mnist.ini --jobs 2 --seeds 3 \\\n"
      "           --set train.steps=100";
  usage.options.add_options()("help,h", "print this help")(
      "study", po::value(&asked.file)->required(), "study file")(
      "jobs",
      po::value(&asked.jobs)->default_value(asked.jobs)->value_name("N"),
      "number of runs trained in parallel, on different CUDA devices where there are several")(
      "seeds",
      po::value(&asked.seeds)->value_name("S"),
      "instead of those in the study file: seeds 1 to S, or those of a list, '1 2 7' or 4-6")(
      "data",
      po::value(&asked.data)->value_name("PATH"),
      "training data; short for --set data.path=PATH")(
      "device",
      po::value(&asked.device)->value_name("NAME"),
      "where the runs train: cpu, cuda, cuda:N or auto; short for --set train.device=NAME")(
      "set",
      po::value(&asked.overrides)->composing()->value_name("NAME=VALUE"),
      "override a setting in all runs; repeatable")(
      "out",
      po::value(&asked.out)->value_name("FOLDER"),
      "folder for the runs and the result (default: runs/STUDY)")(
      "list",
      po::bool_switch(),
      "list the runs without training; with --json also the parameter count of language models")(
      "json", po::bool_switch(), "print the result as JSON");
  add_plan(usage.options, asked.plan);
  add_force(usage);
  usage.positional = "study";
  usage.positional_count = 1;
  if (!parse(arguments, usage, asked.values)) return std::nullopt;
  if (asked.jobs < 1) throw UsageError("--jobs must be at least 1");
  return asked;
}

/// Trains the runs that are not complete and concludes; nothing: interrupted.
struct Sweep {
  study::StudyResult result;
  bool damaged = false;  ///< a run that the result rests on
};
std::optional<Sweep> sweep(const study::StudyDefinition& definition,
                           const study::StudyOptions& options,
                           const fs::path& folder,
                           std::vector<study::StudyRun>& runs,
                           int jobs) {
  study::require_place_for_result(folder);
  make_directories(folder);
  const store::WriterLock lock(folder, "study");
  study::find_progress(runs, [&](const study::StudyRun& run, const std::string& stored) {
    return difference(run, stored, definition.name);
  });
  const auto trained = train_runs(runs, definition.name, folder, jobs);
  if (trained.interrupted) return std::nullopt;
  report_failures(trained.failures);
  std::vector<fs::path> ended;
  for (const auto& run : runs) {
    if (run.progress != study::Progress::kConflict && store::RunWriter::holds_run(run.dir))
      ended.push_back(run.dir);
  }
  const bool damaged = warn_of_damage(ended);
  return Sweep{study::conclude(definition, runs, trained.failures, options), damaged};
}

/// RESULTS.md of the folder, unless the one there is of more runs.
void write_page(const fs::path& page, const study::StudyResult& result) {
  const auto folder = page.parent_path();
  if (!study::holds_more(folder, result)) {
    write_text_atomically(page, reports::study_markdown({result}));
    return;
  }
  const auto kept = study::read_result(folder);
  notice("kappascope: {} is kept, of {} of {} runs: this result has {} of {}\n",
         page.string(),
         kept.ended,
         kept.runs,
         result.ended,
         result.runs);
}

}  // namespace

int run_sweep(const Arguments& arguments) {
  const auto asked = read_sweep_request(arguments);
  if (!asked) return 0;
  auto definition = study::read_definition(asked->file);
  theory::check_claims(definition);
  if (asked->values.count("seeds") != 0)
    definition.seeds = study::parse_seeds(asked->seeds, "--seeds");
  const auto& name = definition.name;
  const study::StudyOptions options = {
      .folder = asked->out,
      .changes = changes_from(asked->overrides, asked->data, asked->device),
      .command = command_of(*asked),
      .decide = theory::decide_claims};
  const auto folder = study::study_folder(definition, options);
  auto runs = study::plan_runs(definition, folder, options.changes);
  check_runs(definition, runs);
  const bool as_json = asked->is_set("json");
  if (asked->is_set("list")) {
    print_list(runs, name, as_json);
    return 0;
  }
  if (asks_for_plan(asked->plan)) {
    print_plan(runs, name, asked->plan, as_json);
    return 0;
  }
  const auto page = folder / "RESULTS.md";
  check_output(page, reports::kMarkdownMark, asked->values);
  const auto done = sweep(definition, options, folder, runs, asked->jobs);
  if (!done) {
    notice("kappascope: interrupted; run the same command again to resume\n");
    return 130;
  }
  const auto& result = done->result;
  write_page(page, result);
  if (as_json) {
    print_json_text(study::result_json(result));
  } else {
    say("{}: {} of {} runs in {}\n", name, result.ended, result.runs, folder.string());
    print_result(result);
  }
  return result.ended == result.runs && !done->damaged ? 0 : 1;
}

}  // namespace kappascope::cli
