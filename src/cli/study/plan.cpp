// SPDX-License-Identifier: Apache-2.0
#include "cli/study/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "cli/progress.h"
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

std::string last_line(const fs::path& log) {
  std::ifstream in(log);
  std::string line, last;
  while (std::getline(in, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

Plan plan_sweep(const std::vector<StudyRun>& runs, const fs::path& root) {
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
    store::write_text_atomically(settings, to_ini(run.settings));
    Job job{{"train", "--resume", dir.string()}, root / "logs" / (run.name + ".txt")};
    if (left == Left::kAll)
      job.words = {"train", "--config", settings.string(), "--out", dir.string()};
    plan.jobs.push_back(std::move(job));
    plan.of_job.push_back(&run);
  }
  return plan;
}

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

std::vector<store::RunEnd> ended_runs(const std::vector<StudyRun>& runs,
                                      const std::vector<Failure>& failures,
                                      const fs::path& root) {
  std::vector<store::RunEnd> ends;
  for (const auto& run : runs) {
    const auto dir = root / run.name;
    const bool failed = std::ranges::find(failures, run.name, &Failure::run) != failures.end();
    const bool diverged =
        failed && fs::exists(dir / "run.sqlite") && store::RunReader(dir).state() == "failed";
    if (diverged || (!failed && left_of(run, dir) == Left::kNothing)) {
      ends.push_back(store::read_run_ends({dir}).front());
    }
  }
  return ends;
}

}  // namespace kappascope::cli
