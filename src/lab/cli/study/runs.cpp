// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/study/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "cli/progress.h"
#include "core/atomic_file.h"
#include "core/own_files.h"
#include "core/time.h"
#include "kappascope/core/error.h"
#include "lab/cli/study/processes.h"
#include "lab/train/device.h"
#include "tensor/cuda_devices.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

std::string last_line(const fs::path& log) {
  std::ifstream in(log);
  std::string line, last;
  while (std::getline(in, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

/// Threads of each of several processes that share the cores; 0 leaves the choice to LibTorch.
int shared_threads(int jobs) {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return jobs > 1 ? std::max(1, cores / jobs) : 0;
}

/// What there is to train, with the runs' settings written into the folder.
std::vector<Job> jobs_for(const std::vector<const study::StudyRun*>& runs,
                          const std::string& study,
                          const fs::path& folder,
                          int threads) {
  make_directories(own_folder(folder, "settings"));
  make_directories(own_folder(folder, "logs"));
  std::vector<Job> jobs;
  for (const auto* run : runs) {
    auto settings = settings_of(*run, study);
    if (settings.train.threads == 0) settings.train.threads = threads;
    const auto file = folder / "settings" / (run->name + ".ini");
    write_text_atomically(file, to_ini(settings));
    // Where it goes on is the study's to say: the run was perhaps begun on another device.
    Job job{{"train", "--resume", run->dir.string(), "--device", settings.train.device},
            own_file_to_write(folder, fs::path("logs") / (run->name + ".txt"))};
    if (run->progress == study::Progress::kMissing)
      job.words = {"train", "--config", file.string(), "--out", run->dir.string()};
    job.any_device = settings.train.device == "cuda" || settings.train.device == "auto";
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// Empty where no job takes any device, so that the CUDA half is not loaded in vain.
std::vector<std::string> devices_for(const std::vector<Job>& jobs) {
  if (std::ranges::none_of(jobs, &Job::any_device)) return {};
  return train::single_devices(tensor::cuda_devices().count, std::getenv("CUDA_VISIBLE_DEVICES"));
}

}  // namespace

Settings settings_of(const study::StudyRun& run, const std::string& study) {
  const auto where = fmt::format("{}, arm {}", study, run.arm);
  auto settings = settings_with(run.settings, where);
  settings.train.label = run.arm;
  settings.condition = run.condition;
  settings.train.seed = run.seed;
  try {
    settings.train.validate();
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", where, error.what()));
  }
  return settings;
}

std::string difference(const study::StudyRun& run,
                       const std::string& stored,
                       const std::string& study) {
  const auto wanted = settings_of(run, study);
  Settings found;
  try {
    found = from_ini(stored);
  } catch (const Error& error) {
    throw Error(run.dir.string() + ": " + error.what());
  }
  found.train.threads = wanted.train.threads;
  found.train.device = wanted.train.device;
  return kappascope::first_difference(to_ini(found), to_ini(wanted));
}

TrainedRuns train_runs(const std::vector<study::StudyRun>& runs,
                       const std::string& study,
                       const fs::path& folder,
                       int jobs_at_once) {
  TrainedRuns out;
  std::vector<const study::StudyRun*> missing;
  std::size_t ended = 0;
  for (const auto& run : runs) {
    if (run.progress == study::Progress::kConflict) {
      out.failures.push_back({run.name, run.conflict});
    } else if (run.progress == study::Progress::kEnded) {
      ++ended;
    } else {
      missing.push_back(&run);
    }
  }
  const auto jobs = jobs_for(missing, study, folder, shared_threads(jobs_at_once));
  ProgressLine line;
  const double start = monotonic_seconds();
  std::size_t done = 0;
  const auto show = [&](std::size_t running, bool last) {
    const double seconds = done == 0 ? std::nan("")
                                     : (monotonic_seconds() - start) / static_cast<double>(done) *
                                           static_cast<double>(jobs.size() - done);
    line.show(
        fmt::format("{}: {} of {} runs, {} running{}{}",
                    study,
                    ended + done,
                    runs.size(),
                    running,
                    out.failures.empty() ? "" : fmt::format(", {} failed", out.failures.size()),
                    last ? "" : "  " + format_seconds(seconds) + " left"),
        last);
  };
  out.interrupted = run_jobs(
      jobs,
      jobs_at_once,
      devices_for(jobs),
      [&](std::size_t job, int status) {
        ++done;
        if (status != 0) out.failures.push_back({missing[job]->name, last_line(jobs[job].log)});
      },
      [&](const JobsProgress& progress) { show(progress.running, false); });
  show(0, true);
  return out;
}

}  // namespace kappascope::cli
