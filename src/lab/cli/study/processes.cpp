// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/study/processes.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "core/require.h"

namespace kappascope::cli {
namespace {

std::atomic<int> stops_requested{0};

void request_stop(int /*signal*/) {
  ++stops_requested;
}

/// Takes the signals that ask for an end, for as long as it lives.
class StopSignals {
 public:
  StopSignals() {
    stops_requested = 0;
    struct sigaction action = {};
    action.sa_handler = request_stop;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
    // Without this a parent that ignores it would have the children's ends lost.
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &child_before_);
  }
  ~StopSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    sigaction(SIGCHLD, &child_before_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_ = {};
  struct sigaction child_before_ = {};
};

/// This process's environment with CUDA_VISIBLE_DEVICES set to `device`.
std::vector<std::string> environment_with(const std::string& device) {
  const std::string name = "CUDA_VISIBLE_DEVICES=";
  std::vector<std::string> out = {name + device};
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with(name)) out.emplace_back(*each);
  }
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// `device`: the only one that the job sees; null: what this process sees.
pid_t start(const Job& job, const std::string* device) {
  std::vector<std::string> words = {"kappascope"};
  words.insert(words.end(), job.words.begin(), job.words.end());
  const auto arguments = pointers_to(words);
  std::vector<std::string> settings;
  if (device != nullptr) settings = environment_with(*device);
  const auto own = pointers_to(settings);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(
      &files, STDOUT_FILENO, job.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  // A group of its own: Ctrl-C reaches this program, which passes it on once.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failed = posix_spawn(&child,
                                 "/proc/self/exe",
                                 &files,
                                 &attributes,
                                 arguments.data(),
                                 device == nullptr ? environ : own.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  require(failed == 0,
          "cannot start a run (its log would be {}): {}",
          job.log.string(),
          std::strerror(failed));
  return child;
}

/// Running jobs. The destructor stops those that still run and waits for them.
class Running {
 public:
  ~Running() {
    request_stop();
    for (const auto& [child, started] : jobs_) waitpid(child, nullptr, 0);
  }
  explicit Running(const std::vector<std::string>& devices) : devices_(devices) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void start(const Job& job, std::size_t index) {
    const bool placed = job.any_device && !devices_.empty();
    const auto device = placed ? least_used() : devices_.size();
    const auto child = cli::start(job, placed ? &devices_[device] : nullptr);
    jobs_.emplace(child, Started{index, device});
  }
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  void request_stop() const {
    for (const auto& [child, started] : jobs_) kill(child, SIGINT);
  }
  /// A job that has ended, with its exit status.
  std::optional<std::pair<std::size_t, int>> ended() {
    for (const auto& [child, started] : jobs_) {
      int raw = 0;
      if (waitpid(child, &raw, WNOHANG) != child) continue;
      const std::pair out{started.job, WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw)};
      jobs_.erase(child);
      return out;
    }
    return std::nullopt;
  }

 private:
  struct Started {
    std::size_t job, device;  ///< device: its place in devices_, or behind the last
  };

  [[nodiscard]] std::size_t least_used() const {
    std::vector<int> used(devices_.size());
    for (const auto& [child, started] : jobs_) {
      if (started.device < used.size()) ++used[started.device];
    }
    return static_cast<std::size_t>(std::ranges::min_element(used) - used.begin());
  }

  const std::vector<std::string>& devices_;
  std::map<pid_t, Started> jobs_;
};

/// Tells a run which process started it.
constexpr const char* kParent = "KAPPASCOPE_PARENT";

}  // namespace

void end_with_parent() {
  const char* parent = std::getenv(kParent);
  if (parent == nullptr) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  require(std::to_string(getppid()) == parent, "the study that started this run has ended");
}

bool run_jobs(const std::vector<Job>& jobs,
              int at_once,
              const std::vector<std::string>& devices,
              const std::function<void(std::size_t, int)>& ended,
              const std::function<void(const JobsProgress&)>& watch) {
  setenv(kParent, std::to_string(getpid()).c_str(), 1);
  const StopSignals signals;
  Running running(devices);
  std::size_t next = 0, done = 0;
  int told = 0;
  while (running.size() > 0 || (next < jobs.size() && stops_requested == 0)) {
    while (stops_requested == 0 && next < jobs.size() &&
           running.size() < static_cast<std::size_t>(at_once)) {
      running.start(jobs[next], next);
      ++next;
    }
    // Each signal is passed on: a second one makes a run end at once.
    for (; told < stops_requested; ++told) running.request_stop();
    if (const auto end = running.ended()) {
      ++done;
      ended(end->first, end->second);
      continue;
    }
    watch({done, running.size(), jobs.size()});
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return stops_requested > 0;
}

}  // namespace kappascope::cli
