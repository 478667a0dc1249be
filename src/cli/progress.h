// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace kappascope::cli {

/// A progress line on stderr: rewritten in place on a terminal, one line every few seconds
/// elsewhere. A silent one says nothing.
class ProgressLine {
 public:
  explicit ProgressLine(bool silent = false);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// The state of the work; `last` ends the line.
  void show(const std::string& text, bool last = false);
  /// A line that stays, written at once.
  void note(const std::string& text);
  /// Ends an open line, so that what is printed next begins a line of its own.
  void close();

 private:
  bool silent_, terminal_, open_ = false;
  double shown_ = -1e9;
};

/// Columns of the terminal that standard output is; where it is none, no line is too long.
std::size_t terminal_width();

}  // namespace kappascope::cli
