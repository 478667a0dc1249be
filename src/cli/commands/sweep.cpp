// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/command.h"
#include "cli/study/comparison.h"
#include "cli/study/plan.h"
#include "cli/study/result.h"
#include "cli/study/study.h"
#include "kappascope/core/error.h"
#include "kappascope/train/problem.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

Changes changes_of(const std::vector<std::string>& words, const std::string& data) {
  Changes changes;
  if (!data.empty()) changes.emplace_back("data.path", data);
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) throw UsageError("--set takes NAME=VALUE, got " + word);
    changes.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return changes;
}

void print_list(const std::vector<StudyRun>& runs, bool as_json) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& run : runs) {
    if (!as_json) fmt::print("{}\n", run.name);
    const auto& train = run.settings.train;
    list.push_back({{"run", run.name},
                    {"arm", run.arm},
                    {"condition", run.condition},
                    {"seed", run.seed},
                    {"parameters", nullptr}});
    // Other models have the shape of their data.
    if (train.kind == "language")
      list.back()["parameters"] = train::language_model_parameters(train);
  }
  if (as_json) fmt::print("{}\n", list.dump());
}

/// The words that make the study again, its data by name.
std::string command_of(const std::string& file,
                       const std::string& data,
                       const std::vector<std::string>& changes,
                       std::int64_t seeds) {
  auto command = "kappascope sweep " + file;
  if (!data.empty()) command += " --data " + fs::path(data).filename().string();
  for (const auto& change : changes) command += " --set " + change;
  if (seeds > 0) command += fmt::format(" --seeds {}", seeds);
  return command;
}

}  // namespace

int run_sweep(const Arguments& arguments) {
  std::string file, out, data;
  int jobs_at_once = 1;
  std::int64_t seeds = 0;
  std::vector<std::string> changes;
  Usage usage;
  usage.synopsis = "kappascope sweep STUDY.ini [--jobs N] [--seeds S] [--data PATH] [--out FOLDER]";
  usage.text =
      "Trains every run of a study (arms x conditions x seeds), each in a process of its own, and\n"
      "compares the arms with the first of them, paired by seed, and decides the study's claims "
      "on\n"
      "them; the result is also left in the runs' folder, for `kappascope results`. Started again "
      "it\n"
      "goes on where it was interrupted, at the step; runs that are there are kept. A run that "
      "fails\n"
      "does not stop the rest. A study is a configuration of `train` with three sections more:\n\n"
      "  [study]  seeds = 5\n"
      "           metrics = loss/test accuracy/test\n"
      "  [arms]   no bias = model.bias=none\n"
      "           PGB = model.bias=post-gating\n"
      "  [grid]   model.dropout = 0 0.1 0.3\n\n"
      "example: kappascope sweep experiments/pgb-mlp.ini --jobs 2 --seeds 3 --set train.steps=100";
  usage.options.add_options()("help,h", "this text")(
      "study", po::value(&file)->required(), "the study")(
      "jobs", po::value(&jobs_at_once)->default_value(1), "runs at a time")(
      "seeds", po::value(&seeds), "instead of the study's: seeds 1 to this")(
      "data", po::value(&data)->value_name("PATH"), "short for --set data.path=PATH")(
      "set",
      po::value(&changes)->composing()->value_name("NAME=VALUE"),
      "change a setting of all runs; may be given several times")(
      "out", po::value(&out)->value_name("FOLDER"), "folder of the runs (default: runs/STUDY)")(
      "list",
      po::bool_switch(),
      "print the runs (with --json also the parameters of language models) and do nothing")(
      "json", po::bool_switch(), "print the result as JSON");
  usage.positional = "study";
  usage.positional_count = 1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (jobs_at_once < 1) throw UsageError("--jobs must be at least 1");
  if (values.count("seeds") != 0 && seeds < 1) throw UsageError("--seeds must be at least 1");

  auto study = read_study(file);
  check_claims(study);
  if (seeds > 0) study.seeds = seeds;
  auto runs = runs_of(study, changes_of(changes, data));
  if (values["list"].as<bool>()) {
    print_list(runs, values["json"].as<bool>());
    return 0;
  }
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  for (auto& run : runs) {
    auto& threads = run.settings.train.threads;
    // Runs beside each other share the cores; more threads than that would only wait.
    if (threads == 0 && jobs_at_once > 1) threads = std::max(1, cores / jobs_at_once);
  }

  const fs::path root = out.empty() ? fs::path("runs") / study.name : fs::path(out);
  auto work = plan_sweep(runs, root);
  if (carry_out(work, study, runs.size(), jobs_at_once)) {
    fmt::print(stderr, "kappascope: interrupted; the same command goes on\n");
    return 130;
  }
  for (const auto& [name, why] : work.failures) {
    fmt::print(stderr, "kappascope: run {} failed: {}\n", name, why);
  }
  const auto ends = ended_runs(runs, work.failures, root);
  require(!ends.empty(), "no run of ", study.name, " has ended; see ", (root / "logs").string());
  const auto comparisons = study.arms.size() > 1
                               ? store::compare_runs(ends, study.arms.front().first, study.metrics)
                               : std::vector<store::Comparison>{};
  const auto verdicts = decide_claims(study, ends);
  const auto result = result_json(
      {study, ends, comparisons, command_of(file, data, changes, seeds), std::ssize(runs)},
      verdicts);
  write_result(root, result, verdicts);
  if (values["json"].as<bool>()) {
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("{}: {} of {} runs in {}\n", study.name, ends.size(), runs.size(), root.string());
    print_comparisons(comparisons);
    for (const auto& [claim, verdict] : verdicts) {
      fmt::print("\n{}: {}\n  {}\n  {}\n",
                 claim->id,
                 theory::to_string(verdict.outcome),
                 claim->statement,
                 verdict.condition);
    }
  }
  return ends.size() == runs.size() ? 0 : 1;
}

}  // namespace kappascope::cli
