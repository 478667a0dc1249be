// SPDX-License-Identifier: Apache-2.0
#include "cli/study/processes.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>

#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

std::atomic<bool> stop_requested{false};

void request_stop(int /*signal*/) {
  stop_requested = true;
}

pid_t start(const Job& job) {
  std::vector<std::string> words = {"kappascope"};
  words.insert(words.end(), job.words.begin(), job.words.end());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(
      &files, STDOUT_FILENO, job.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  // A group of its own: Ctrl-C reaches this program, which passes it on once.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, "/proc/self/exe", &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  require(failed == 0,
          "cannot start a run (its log would be ",
          job.log.string(),
          "): ",
          std::strerror(failed));
  return child;
}

}  // namespace

bool run_jobs(const std::vector<Job>& jobs,
              int at_once,
              const std::function<void(std::size_t, int)>& ended,
              const std::function<void(const JobsProgress&)>& watch) {
  stop_requested = false;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  std::map<pid_t, std::size_t> running;
  std::size_t next = 0, done = 0;
  bool told = false;
  while (!running.empty() || (next < jobs.size() && !stop_requested)) {
    while (!stop_requested && next < jobs.size() &&
           running.size() < static_cast<std::size_t>(at_once)) {
      running.emplace(start(jobs[next]), next);
      ++next;
    }
    if (stop_requested && !told) {
      for (const auto& [child, job] : running) kill(child, SIGINT);
      told = true;
    }
    int raw = 0;
    const auto child = waitpid(-1, &raw, WNOHANG);
    if (const auto found = running.find(child); child > 0 && found != running.end()) {
      const auto job = found->second;
      running.erase(found);
      ++done;
      ended(job, WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw));
      continue;
    }
    watch({done, running.size(), jobs.size()});
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return stop_requested;
}

}  // namespace kappascope::cli
