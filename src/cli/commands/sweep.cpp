// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
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

/// Throws when the folder holds a run of other settings, which must not be taken for this one.
Left left_of(const StudyRun& run, const fs::path& dir) {
  if (!fs::exists(dir / "run.sqlite")) {
    require(!fs::exists(dir) || fs::is_empty(dir),
            dir.string(),
            " is in the way: it is not empty and holds no run");
    return Left::kAll;
  }
  const store::RunReader reader(dir);
  auto stored = from_ini(reader.fact("config"));
  stored.train.threads = run.settings.train.threads;  // another number of them is the same run
  require(to_ini(stored) == to_ini(run.settings),
          dir.string(),
          " was made with other settings than the study has now: remove it, or sweep into another "
          "folder with --out");
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
  Changes more;
  if (!data.empty()) more.emplace_back("data.path", data);
  for (const auto& change : changes) {
    const auto equals = change.find('=');
    if (equals == std::string::npos) throw UsageError("--set takes NAME=VALUE, got " + change);
    more.emplace_back(change.substr(0, equals), change.substr(equals + 1));
  }
  auto runs = runs_of(study, more);
  if (values["list"].as<bool>()) {
    for (const auto& run : runs) fmt::print("{}\n", run.name);
    return 0;
  }
  const fs::path root = out.empty() ? fs::path("runs") / study.name : fs::path(out);
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  for (auto& run : runs) {
    auto& threads = run.settings.train.threads;
    // Runs beside each other share the cores; more threads than that would only wait.
    if (threads == 0 && jobs_at_once > 1) threads = std::max(1, cores / jobs_at_once);
  }

  fs::create_directories(root / "settings");
  fs::create_directories(root / "logs");
  std::vector<Job> jobs;
  std::vector<const StudyRun*> of_job;
  for (const auto& run : runs) {
    const auto dir = root / run.name;
    const auto left = left_of(run, dir);
    if (left == Left::kNothing) continue;
    const auto settings = root / "settings" / (run.name + ".ini");
    write_text(settings, to_ini(run.settings));
    const auto log = root / "logs" / (run.name + ".txt");
    if (left == Left::kRest) {
      jobs.push_back({{"train", "--resume", dir.string()}, log});
    } else {
      jobs.push_back({{"train", "--config", settings.string(), "--out", dir.string()}, log});
    }
    of_job.push_back(&run);
  }
  const auto before = runs.size() - jobs.size();
  ProgressLine line;
  std::vector<Failure> failures;
  const double begin = monotonic_seconds();
  const auto tell = [&](const JobsProgress& now, bool last) {
    const double left = now.done == 0
                            ? std::nan("")
                            : (monotonic_seconds() - begin) / static_cast<double>(now.done) *
                                  static_cast<double>(now.total - now.done);
    line.show(fmt::format("{}: {} of {} runs, {} now{}{}",
                          study.name,
                          before + now.done,
                          runs.size(),
                          now.running,
                          failures.empty() ? "" : fmt::format(", {} failed", failures.size()),
                          last ? "" : "  " + format_seconds(left) + " left"),
              last);
  };
  std::size_t done = 0;
  const bool stopped = run_jobs(
      jobs,
      jobs_at_once,
      [&](std::size_t job, int status) {
        ++done;
        if (status == 0 || status == 130) return;
        failures.push_back({of_job[job]->name, last_line(jobs[job].log)});
      },
      [&](const JobsProgress& now) { tell(now, false); });
  tell({done, 0, jobs.size()}, true);
  for (const auto& [name, why] : failures) {
    fmt::print(stderr, "kappascope: run {} failed: {}\n", name, why);
  }
  if (stopped) {
    fmt::print(stderr, "kappascope: interrupted; the same command goes on\n");
    return 130;
  }

  std::vector<RunEnd> ends;
  std::vector<std::string> without_run;
  for (const auto& run : runs) {
    const auto dir = root / run.name;
    const bool ended = fs::exists(dir / "run.sqlite") && left_of(run, dir) == Left::kNothing;
    if (ended) {
      ends.push_back(read_ends({dir}).front());
    } else {
      without_run.push_back(run.name);
    }
  }
  require(!ends.empty(), "no run of ", study.name, " has ended; see ", (root / "logs").string());
  const bool compares = study.arms.size() > 1;
  const auto comparisons = compares ? compare_runs(ends, study.arms.front().first, study.metrics)
                                    : std::vector<Comparison>{};
  if (values["json"].as<bool>()) {
    const nlohmann::json result = {{"study", study.name},
                                   {"folder", root.string()},
                                   {"runs", runs.size()},
                                   {"missing", without_run},
                                   {"comparisons", comparisons_json(comparisons)}};
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("{}: {} runs in {}\n", study.name, ends.size(), root.string());
    print_comparisons(comparisons);
  }
  return without_run.empty() ? 0 : 1;
}

}  // namespace kappascope::cli
