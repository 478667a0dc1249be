// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/store/record.h"

namespace kappascope::store {

struct StepValue {
  std::int64_t step = 0;
  Scalar scalar;
};

struct StepEvent {
  std::int64_t step = 0;
  std::string time;  ///< UTC, ISO 8601
  Event event;
};

struct SeriesKey {
  std::string name, layer;
  // clang-tidy 14 takes the defaulted operator for a comparison with a literal 0.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  auto operator<=>(const SeriesKey&) const = default;
};

/// Reads a run, also while it is being written: each call sees whole snapshots only, and what was
/// written up to that call. Refuses a newer schema, a foreign or truncated file, each with an
/// error that names the file. Finding a series costs a search, not a scan, and listing them one
/// search each. One thread at a time.
class RunReader {
 public:
  /// Before every step that can be stored.
  static constexpr std::int64_t kFirstStep = std::numeric_limits<std::int64_t>::min();

  explicit RunReader(const std::filesystem::path& dir);
  RunReader(RunReader&&) noexcept;
  RunReader& operator=(RunReader&&) noexcept;
  ~RunReader();

  [[nodiscard]] const std::filesystem::path& dir() const;
  /// What the writer said last; "running" becomes "dead" when no writer holds the lock.
  [[nodiscard]] std::string state() const;
  [[nodiscard]] Facts facts() const;  ///< without the state, which only state() can tell
  [[nodiscard]] std::string fact(const std::string& key, const std::string& otherwise = "") const;
  [[nodiscard]] std::vector<SeriesKey> series() const;  ///< sorted by name, then layer
  /// By step, those of step `from` and later. Cost: a search, and what is returned.
  [[nodiscard]] std::vector<StepValue> scalars(const SeriesKey& key,
                                               std::int64_t from = kFirstStep) const;
  /// The same one by one: a series of 10^7 points takes 2 GB at once.
  void visit_scalars(const SeriesKey& key,
                     std::int64_t from,
                     const std::function<void(StepValue)>& visit) const;
  [[nodiscard]] std::vector<std::pair<std::int64_t, Array>> arrays(
      const SeriesKey& key, std::int64_t from = kFirstStep) const;
  [[nodiscard]] std::vector<SeriesKey> array_series() const;
  [[nodiscard]] std::vector<StepEvent> events() const;     ///< as they were written
  [[nodiscard]] std::vector<VerdictRow> verdicts() const;  ///< in the order of their first writing
  /// Rows that were read so far and are not what was written (each has a CRC-32 since version 0.2):
  /// the calls above leave them out. "kappa/sigma of blocks.0, step 20", sorted.
  [[nodiscard]] std::vector<std::string> damaged() const;
  [[nodiscard]] std::int64_t last_step() const;  ///< -1 when nothing was written
  /// When training wrote the last step up to `until`, in UTC, ISO 8601; empty without one. What
  /// `kappascope spectrum` adds to a step leaves its time as it was.
  [[nodiscard]] std::string last_written(
      std::int64_t until = std::numeric_limits<std::int64_t>::max()) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs found in `dir` itself and in its subfolders (depth 2), sorted by path. Folders that may
/// not be read are passed over, and so are the results that studies leave beside their runs; throws
/// when `dir` is not a folder.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& dir);

/// The fact that hides a run in a folder: not empty.
inline constexpr const char* kArchived = "archived";
/// Whether that is set; not for a run that cannot be read.
bool is_archived(const std::filesystem::path& run);

/// What a user names: each place is a run, or a folder that stands for those in it (find_runs) but
/// the archived ones. A place without a run stays as it is, for its reader to complain; a run named
/// twice is there once.
std::vector<std::filesystem::path> runs_at(const std::vector<std::filesystem::path>& places);

}  // namespace kappascope::store
