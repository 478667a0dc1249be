// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace kappascope::reports {

/// The page of html_report() about runs that are still written, and what changed on it since. Reads
/// the stores alone, and holds nothing of them between two looks. One thread at a time.
class LiveReport {
 public:
  /// A place is a run, or a folder in which runs are looked for two levels deep, now and later.
  /// Throws where there is neither.
  explicit LiveReport(std::vector<std::filesystem::path> places);
  LiveReport(LiveReport&&) noexcept;
  LiveReport& operator=(LiveReport&&) noexcept;
  ~LiveReport();

  /// Reads what was written since the last call; whether the page is another one by that, whose
  /// version is then the next number. A run that cannot be read is told on the page.
  /// Cost where nothing was written: a few system calls a run.
  bool refresh();
  [[nodiscard]] std::uint64_t version() const;

  /// As HTML that asks `events` beside its own address for changes.
  [[nodiscard]] std::string page() const;

  /// JSON on one line that brings a page of that version up to date; one that is too old, or of
  /// another server, is sent everything.
  [[nodiscard]] std::string changes_since(std::uint64_t version) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kappascope::reports
