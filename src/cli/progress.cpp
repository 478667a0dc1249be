// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <limits>

#include "core/notice.h"
#include "core/time.h"

namespace kappascope::cli {

ProgressLine::ProgressLine(bool silent) : silent_(silent), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  close();
}

void ProgressLine::close() {
  if (open_) notice("\n");
  open_ = false;
}

void ProgressLine::note(const std::string& text) {
  if (silent_) return;
  close();
  notice("{}\n", text);
}

void ProgressLine::show(const std::string& text, bool last) {
  if (silent_) return;
  constexpr double kLogSeconds = 5;
  if (terminal_) {
    std::fputs("\r\033[K", stderr);
    notice("{}", text);
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

std::size_t terminal_width() {
  struct winsize window {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return known ? window.ws_col : std::numeric_limits<std::size_t>::max();
}

}  // namespace kappascope::cli
