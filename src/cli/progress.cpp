// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "kappascope/core/notice.h"
#include "kappascope/core/time.h"

namespace kappascope::cli {

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  close();
}

void ProgressLine::close() {
  if (open_) notice("\n");
  open_ = false;
}

void ProgressLine::note(const std::string& text) {
  close();
  notice("{}\n", text);
}

void ProgressLine::show(const std::string& text, bool last) {
  constexpr double kLogSeconds = 5;
  if (terminal_) {
    notice("\r\033[K{}", text);
    std::fflush(stderr);
    open_ = true;
    if (last) close();
    return;
  }
  const double now = monotonic_seconds();
  if (!last && now - shown_ < kLogSeconds) return;
  shown_ = now;
  notice("{}\n", text);
}

}  // namespace kappascope::cli
