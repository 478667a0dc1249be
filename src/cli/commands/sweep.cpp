// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/study/comparison.h"
#include "cli/study/processes.h"
#include "cli/study/study.h"
#include "kappascope/core/error.h"
#include "kappascope/core/time.h"
#include "kappascope/store/atomic_file.h"
#include "kappascope/store/run_reader.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

/// What is left to do of a run: nothing, the rest, or all.
enum class Left { kNothing, kRest, kAll };

/// The first line in which two configurations differ, both sides.
std::string first_difference(const std::string& stored, const std::string& wanted) {
  std::istringstream a(stored), b(wanted);
  std::string left, right;
  while (std::getline(a, left) && std::getline(b, right)) {
    if (left != right) return fmt::format("'{}' there, '{}' now", left, right);
  }
  return "its length";
}

/// Throws when the folder holds a run of other settings, which must not be taken for this one.
Left left_of(const StudyRun& run, const fs::path& dir) {
  if (!fs::exists(dir / "run.sqlite")) {
    require(!fs::exists(dir) || fs::is_empty(dir),
            dir.string(),
            " is in the way: it is not empty and holds no run; remove it");
    return Left::kAll;
  }
  const store::RunReader reader(dir);
  Settings stored;
  try {
    stored = from_ini(reader.fact("config"));
  } catch (const Error& error) {
    throw Error(dir.string() + ": " + error.what());
  }
  stored.train.threads = run.settings.train.threads;  // another number of them is the same run
  require(to_ini(stored) == to_ini(run.settings),
          dir.string(),
          " was made with other settings than the study has now (",
          first_difference(to_ini(stored), to_ini(run.settings)),
          "): remove it, or sweep into another folder with --out");
  const auto state = reader.state();
  return state == "finished" || state == "failed" ? Left::kNothing : Left::kRest;
}

void write_text(const fs::path& file, const std::string& text) {
  store::write_atomically(file, [&](const fs::path& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    out.close();
    require(out.good(), "cannot write ", file.string());
  });
}

struct Failure {
  std::string run, why;
};

std::string last_line(const fs::path& log) {
  std::ifstream in(log);
  std::string line, last;
  while (std::getline(in, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

struct Plan {
  std::vector<Job> jobs;
  std::vector<const StudyRun*> of_job;
  std::vector<Failure> failures;  ///< of runs that cannot be started, and then of those that failed
  std::size_t there = 0;          ///< runs that had ended before
};

/// What there is to do in `root`, with each run's settings written there.
Plan plan(const std::vector<StudyRun>& runs, const fs::path& root) {
  fs::create_directories(root / "settings");
  fs::create_directories(root / "logs");
  Plan plan;
  for (const auto& run : runs) {
    const auto dir = root / run.name;
    auto left = Left::kNothing;
    try {
      left = left_of(run, dir);
    } catch (const Error& error) {
      plan.failures.push_back({run.name, error.what()});
      continue;
    }
    if (left == Left::kNothing) {
      ++plan.there;
      continue;
    }
    const auto settings = root / "settings" / (run.name + ".ini");
    write_text(settings, to_ini(run.settings));
    Job job{{"train", "--resume", dir.string()}, root / "logs" / (run.name + ".txt")};
    if (left == Left::kAll)
      job.words = {"train", "--config", settings.string(), "--out", dir.string()};
    plan.jobs.push_back(std::move(job));
    plan.of_job.push_back(&run);
  }
  return plan;
}

/// Runs what is planned; returns whether it was interrupted.
bool carry_out(Plan& plan, const Study& study, std::size_t runs, int jobs_at_once) {
  ProgressLine line;
  const double begin = monotonic_seconds();
  std::size_t done = 0;
  const auto tell = [&](std::size_t running, bool last) {
    const auto ended = static_cast<double>(done);
    const double left = done == 0 ? std::nan("")
                                  : (monotonic_seconds() - begin) / ended *
                                        static_cast<double>(plan.jobs.size() - done);
    const auto failed = plan.failures.size();
    line.show(fmt::format("{}: {} of {} runs, {} now{}{}",
                          study.name,
                          plan.there + done,
                          runs,
                          running,
                          failed == 0 ? "" : fmt::format(", {} failed", failed),
                          last ? "" : "  " + format_seconds(left) + " left"),
              last);
  };
  const bool stopped = run_jobs(
      plan.jobs,
      jobs_at_once,
      [&](std::size_t job, int status) {
        ++done;
        if (status != 0) {
          plan.failures.push_back({plan.of_job[job]->name, last_line(plan.jobs[job].log)});
        }
      },
      [&](const JobsProgress& now) { tell(now.running, false); });
  tell(0, true);
  return stopped;
}

/// The runs that have ended, by a last step or by a loss that left the finite numbers.
std::vector<RunEnd> ended_runs(const std::vector<StudyRun>& runs,
                               const std::vector<Failure>& failures,
                               const fs::path& root) {
  std::vector<RunEnd> ends;
  for (const auto& run : runs) {
    const auto dir = root / run.name;
    const bool failed = std::ranges::find(failures, run.name, &Failure::run) != failures.end();
    const bool diverged =
        failed && fs::exists(dir / "run.sqlite") && store::RunReader(dir).state() == "failed";
    if (diverged || (!failed && left_of(run, dir) == Left::kNothing)) {
      ends.push_back(read_ends({dir}).front());
    }
  }
  return ends;
}

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
      "compares the arms with the first of them, paired by seed. Started again it goes on where "
      "it\n"
      "was interrupted, at the step; runs that are there are kept. A run that fails does not stop\n"
      "the rest. A study is a configuration of `train` with three sections more:\n\n"
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
      "list", po::bool_switch(), "print the runs and do nothing")(
      "json", po::bool_switch(), "print the comparison as JSON");
  usage.positional = "study";
  usage.positional_count = 1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (jobs_at_once < 1) throw UsageError("--jobs must be at least 1");
  if (values.count("seeds") != 0 && seeds < 1) throw UsageError("--seeds must be at least 1");

  auto study = read_study(file);
  if (seeds > 0) study.seeds = seeds;
  auto runs = runs_of(study, changes_of(changes, data));
  if (values["list"].as<bool>()) {
    for (const auto& run : runs) fmt::print("{}\n", run.name);
    return 0;
  }
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  for (auto& run : runs) {
    auto& threads = run.settings.train.threads;
    // Runs beside each other share the cores; more threads than that would only wait.
    if (threads == 0 && jobs_at_once > 1) threads = std::max(1, cores / jobs_at_once);
  }

  const fs::path root = out.empty() ? fs::path("runs") / study.name : fs::path(out);
  auto work = plan(runs, root);
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
                               ? compare_runs(ends, study.arms.front().first, study.metrics)
                               : std::vector<Comparison>{};
  if (values["json"].as<bool>()) {
    const nlohmann::json result = {{"study", study.name},
                                   {"claims", study.claims},
                                   {"folder", root.string()},
                                   {"runs", runs.size()},
                                   {"ended", ends.size()},
                                   {"comparisons", comparisons_json(comparisons)}};
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("{}: {} of {} runs in {}\n", study.name, ends.size(), runs.size(), root.string());
    print_comparisons(comparisons);
  }
  return ends.size() == runs.size() ? 0 : 1;
}

}  // namespace kappascope::cli
