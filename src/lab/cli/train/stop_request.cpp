// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/train/stop_request.h"

#include <csignal>
#include <cstdlib>
#include <ctime>

namespace kappascope::cli {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<std::time_t> stop_requested_at{0};

// Only a second signal that a person had time to send ends the program: timeout and batch systems
// send the same one to the program and to its group.
void ask_to_stop(int /*signal*/) {
  constexpr std::time_t kOneEvent = 2;  // seconds
  const auto now = std::time(nullptr);
  std::time_t first = 0;
  if (stop_requested_at.compare_exchange_strong(first, now)) {
    stop_requested = true;
  } else if (now - first >= kOneEvent) {
    std::_Exit(130);
  }
}

}  // namespace

const std::atomic<bool>& listen_for_stop() {
  stop_requested = false;
  stop_requested_at = 0;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(signal, ask_to_stop) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  return stop_requested;
}

bool stop_is_overdue() {
  constexpr std::time_t kGrace = 2;  // seconds
  return stop_requested && std::time(nullptr) - stop_requested_at.load() > kGrace;
}

}  // namespace kappascope::cli
