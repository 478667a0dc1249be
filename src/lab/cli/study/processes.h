// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace kappascope::cli {

/// A child process of this executable.
struct Job {
  std::vector<std::string> words;  ///< its arguments
  std::filesystem::path log;       ///< takes what it prints
  bool any_device = false;         ///< it takes the CUDA device that it is shown
};

struct JobsProgress {
  std::size_t done = 0, running = 0, total = 0;
};

/// Runs jobs as processes, at most `at_once` at a time, and calls `ended` with the index and exit
/// status of each as it ends (128 + signal when killed). `watch` is called five times a second. On
/// SIGINT, SIGTERM or SIGHUP no further job starts, the running ones get SIGINT, and run_jobs
/// returns when they have ended; a second signal is passed on too. Returns whether a signal came.
/// `devices`: values of CUDA_VISIBLE_DEVICES; those that take any device get them in turn, the one
/// that fewest running jobs have. Empty: they see what this process sees.
bool run_jobs(const std::vector<Job>& jobs,
              int at_once,
              const std::vector<std::string>& devices,
              const std::function<void(std::size_t, int)>& ended,
              const std::function<void(const JobsProgress&)>& watch);

/// In a process that run_jobs started: asks the system for a SIGTERM when that parent ends, however
/// it does. Throws Error where it has ended already. Elsewhere it does nothing.
void end_with_parent();

}  // namespace kappascope::cli
