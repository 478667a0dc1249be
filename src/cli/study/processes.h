// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace kappascope::cli {

/// This program again, with other words.
struct Job {
  std::vector<std::string> words;  ///< after the program's name
  std::filesystem::path log;       ///< takes what it prints
};

struct JobsProgress {
  std::size_t done = 0, running = 0, total = 0;
};

/// Runs jobs as processes of their own, at most `at_once` at a time, and calls `ended` with the
/// number and exit status of each as it ends (128 + signal when killed). `watch` is called a few
/// times a second. On SIGINT, SIGTERM or SIGHUP no further job starts, those that run are told to
/// stop, and it returns when they have; a second signal is passed on as well. Returns whether it
/// was stopped so.
bool run_jobs(const std::vector<Job>& jobs,
              int at_once,
              const std::function<void(std::size_t, int)>& ended,
              const std::function<void(const JobsProgress&)>& watch);

}  // namespace kappascope::cli
