// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kappascope/store/record.h"

namespace kappascope::store {

/// The only code that writes a run: one directory, one SQLite database (run.sqlite) in it, one
/// transaction a snapshot; whole after SIGKILL at any moment. After a power cut it is whole too,
/// and holds all that was written before make_durable() returned, or set_state(), or create(); what
/// was written since may be missing, at most that of half a minute. The kernel's lock on
/// DIR/writer.lock, which ends with the process, keeps a second writer out; readers need no lock.
///
/// A database that is removed or replaced while it is written stops the writer: what it held is
/// copied to a new run beside the directory (DIR-rescued), which the error names.
///
/// Everything throws kappascope::Error with the path, the cause and what to do; what was written
/// before a failure stays, and the writer can be used after one. One thread at a time. In a process
/// forked from the one that made it a writer throws, and its end closes nothing.
class RunWriter {
 public:
  /// Makes `dir` (parents too) and the database, in state "running". A run that is already in
  /// `dir` is refused; other files there do not disturb. Of facts with the same key the last
  /// counts. Adds the fact "journal_mode": "wal", or "delete" on a file system that cannot share
  /// memory, where a reader can hold up the writer for moments.
  static RunWriter create(const std::filesystem::path& dir, const Facts& facts);
  static bool holds_run(const std::filesystem::path& dir);
  /// Whether `dir` holds nothing but what a process leaves that was killed within create(), or
  /// nothing at all; create() clears it away.
  static bool is_half_made(const std::filesystem::path& dir);
  /// The first copy of the run in `dir` that was made because it was taken away; empty where there
  /// is none.
  static std::filesystem::path rescue_of(const std::filesystem::path& dir);
  /// Opens an existing run to continue after `step`, in state "running": scalars, arrays and events
  /// of later steps are removed in one transaction (they will be written again), which is recorded
  /// as an event "resumed" at `step`. Facts and verdicts stay.
  static RunWriter resume(const std::filesystem::path& dir, std::int64_t step);
  /// Opens an existing run to add verdicts or spectra to it; removes nothing, leaves the state.
  static RunWriter append(const std::filesystem::path& dir);
  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;
  ~RunWriter();

  /// Writes all of it or nothing. An existing (name, layer, step) is replaced; events are appended.
  void write(const Snapshot& snapshot);
  /// Writes several snapshots in one transaction: a training loop that buffers the losses of a
  /// second pays for one.
  void write(std::span<const Snapshot> snapshots);
  void set_fact(const std::string& key, const std::string& value);
  /// A verdict on the same claim is replaced.
  void write_verdict(const VerdictRow& verdict);
  /// "running" | "finished" | "interrupted" | "failed". A run left "running" by a writer that is
  /// gone reads as "dead". Makes all that was written durable.
  void set_state(const std::string& state);
  /// Returns when all that was written is on the disk, where a power cut leaves it: before a file
  /// is saved that goes with it (a checkpoint), or a user is told that it is stored. Cost: a flush.
  void make_durable();
  /// Counts the half minute on this clock, in seconds that never go back, from now on: for tests.
  void use_clock(std::function<double()> seconds);

  [[nodiscard]] const std::filesystem::path& dir() const;
  /// The run that holds what this one held, once this one was removed or replaced; else empty.
  [[nodiscard]] std::filesystem::path rescued() const;

 private:
  struct Impl;
  void leave_to_owner();
  explicit RunWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kappascope::store
