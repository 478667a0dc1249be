// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace kappascope::reports {

struct TerminalSize {
  std::size_t columns = 80, rows = 40;
  bool colours = false;  ///< escape codes
};

/// Loss, κ of the worst layer and λ1 of runs that are still written, drawn in characters. Reads the
/// stores as LiveReport does. One thread at a time.
class LiveText {
 public:
  /// As LiveReport.
  explicit LiveText(std::vector<std::filesystem::path> places);
  LiveText(LiveText&&) noexcept;
  LiveText& operator=(LiveText&&) noexcept;
  ~LiveText();

  /// Reads what was written since the last call; whether there was something.
  bool refresh();
  /// Lines that fit the size, unless it is too low for the plots, each with its line break. Names
  /// are printable: nothing that a terminal would obey, but the colours.
  [[nodiscard]] std::string frame(const TerminalSize& size) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kappascope::reports
