// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kappascope::store {

/// One number at one step, with what is known of its error. `value` = NaN is stored as NULL and
/// means "not available", which `status` explains; ±infinity is stored as it is.
struct Scalar {
  std::string name;   ///< "kappa/sigma", "loss/train": a slash parts the family from the quantity
  std::string layer;  ///< "blocks.0.down", empty for the whole model
  double value = 0;
  std::optional<double> lower, upper;  ///< 95 % interval, where one was computed
  std::optional<double> n, n_effective;
  std::string status = "ok";  ///< "ok", "resolved", "biased", "not_resolvable", "degenerate", ...
};

/// A vector or a small table at one step; row-major doubles.
struct Array {
  std::string name, layer;
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};

/// Something that happened: "nan_loss", "interrupted", "resumed", "probe_skipped".
struct Event {
  std::string kind, message;
};

/// What is written at once, in one transaction.
struct Snapshot {
  std::int64_t step = 0;
  std::vector<Scalar> scalars;
  std::vector<Array> arrays;
  std::vector<Event> events;
};

/// The verdict of one claim, as the run store and programs see it.
struct VerdictRow {
  std::string claim, outcome, condition;
  std::string json;  ///< the whole verdict: both sides, margin, cases, seed, witness, route, seconds
};

using Facts = std::vector<std::pair<std::string, std::string>>;  ///< key, value; insertion order

/// The only code that writes a run: one directory, one SQLite database (WAL) in it, one
/// transaction a snapshot; whole after SIGKILL at any moment. A second writer is refused.
/// Everything throws kappascope::Error with the path and the cause.
class RunWriter {
 public:
  /// Makes DIR (parents too) and the database. An existing run in DIR is refused.
  static RunWriter create(const std::filesystem::path& dir, const Facts& facts);
  /// Opens an existing run to go on after `step`: rows of later steps are removed (they will be
  /// written again), which is recorded as an event.
  static RunWriter resume(const std::filesystem::path& dir, std::int64_t step);
  /// Opens an existing run to add verdicts or spectra to it; removes nothing.
  static RunWriter append(const std::filesystem::path& dir);
  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;
  ~RunWriter();

  void write(const Snapshot& snapshot);
  void set_fact(const std::string& key, const std::string& value);
  void write_verdict(const VerdictRow& verdict);
  /// "running" | "finished" | "interrupted" | "failed"; create() sets running.
  void set_state(const std::string& state);

  [[nodiscard]] const std::filesystem::path& dir() const;

 private:
  struct Impl;
  explicit RunWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct StepValue {
  std::int64_t step = 0;
  Scalar scalar;
};

struct StepEvent {
  std::int64_t step = 0;
  std::string time;
  Event event;
};

struct SeriesKey {
  std::string name, layer;
  auto operator<=>(const SeriesKey&) const = default;
};

/// Reads a run, also while it is being written. Refuses a newer schema, a foreign or truncated
/// file, each with an error that names the file.
class RunReader {
 public:
  explicit RunReader(const std::filesystem::path& dir);
  RunReader(RunReader&&) noexcept;
  RunReader& operator=(RunReader&&) noexcept;
  ~RunReader();

  [[nodiscard]] const std::filesystem::path& dir() const;
  [[nodiscard]] std::string state() const;  ///< "running" becomes "dead" when no writer holds the lock
  [[nodiscard]] Facts facts() const;
  [[nodiscard]] std::string fact(const std::string& key, const std::string& otherwise = "") const;
  [[nodiscard]] std::vector<SeriesKey> series() const;        ///< sorted by name, then layer
  [[nodiscard]] std::vector<StepValue> scalars(const SeriesKey& key) const;  ///< by step
  [[nodiscard]] std::vector<std::pair<std::int64_t, Array>> arrays(const SeriesKey& key) const;
  [[nodiscard]] std::vector<SeriesKey> array_series() const;
  [[nodiscard]] std::vector<StepEvent> events() const;
  [[nodiscard]] std::vector<VerdictRow> verdicts() const;
  [[nodiscard]] std::int64_t last_step() const;               ///< -1 when nothing was written

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs found in `dir` itself and in its subfolders (depth 2), sorted by path.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& dir);

}  // namespace kappascope::store
