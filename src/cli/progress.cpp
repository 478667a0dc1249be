// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "kappascope/core/time.h"

namespace kappascope::cli {

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  close();
}

void ProgressLine::close() {
  if (open_) fmt::print(stderr, "\n");
  open_ = false;
}

void ProgressLine::note(const std::string& text) {
  close();
  fmt::print(stderr, "{}\n", text);
}

void ProgressLine::show(const std::string& text, bool last) {
  constexpr double kLogSeconds = 5;
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
    open_ = true;
    if (last) close();
    return;
  }
  const double now = monotonic_seconds();
  if (!last && now - shown_ < kLogSeconds) return;
  shown_ = now;
  fmt::print(stderr, "{}\n", text);
}

}  // namespace kappascope::cli
