// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "kappascope/core/time.h"

namespace kappascope::cli {

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (open_) fmt::print(stderr, "\n");
}

void ProgressLine::show(const std::string& text, bool last) {
  constexpr double kLogSeconds = 5;
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
    open_ = true;
    return;
  }
  const double now = monotonic_seconds();
  if (!last && now - shown_ < kLogSeconds) return;
  shown_ = now;
  fmt::print(stderr, "{}\n", text);
}

}  // namespace kappascope::cli
