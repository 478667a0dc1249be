// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/store/run.h"

namespace kappascope::session {

/// What a session has to write, and how it gets to the run. Any thread may add() and write.
///
/// Where nothing can be written (a disk is full, say), that is said once, training goes on, and it
/// is tried again after 1, 2, 4, ... 60 seconds. Up to kMostHeld bytes are held meanwhile; of more,
/// the oldest steps are dropped, and the run says which when it can be written again.
///
/// It belongs to the process that made it. In one that is forked from that, which may end while the
/// first goes on, it writes nothing and closes nothing.
class RunRecord {
 public:
  static constexpr std::size_t kMostHeld = std::size_t{64} << 20U;

  /// `run`: none where another process of a group writes it. `seconds`: a clock that never goes
  /// back.
  explicit RunRecord(std::optional<store::RunWriter> run, std::function<double()> seconds);

  [[nodiscard]] bool writes() const { return run_.has_value(); }
  /// Throws Error in a process that does not write it. One thread at a time.
  [[nodiscard]] store::RunWriter& run();
  /// False in a process that was forked from the one that made it.
  [[nodiscard]] bool is_own() const;
  /// Throws Error where it is not.
  void require_own() const;

  void add(store::Snapshot snapshot);
  /// The same of each, in order, without taking memory.
  void add(std::list<store::Snapshot> snapshots);
  /// Of the whole run; written with the snapshots, and replaces an earlier value.
  void set_fact(const std::string& key, const std::string& value);
  /// Writes what is pending, unless that failed a moment ago.
  void write();
  /// The same now. Throws Error where it cannot be written; it is kept then.
  void write_now();
  /// Throws Error, once, where the run had to go on in a copy.
  void report_moved();
  void set_state(const std::string& state);
  void make_durable();
  /// Seconds since something was written, or was to be.
  [[nodiscard]] double since_written() const;
  /// Whether run() is a copy of the run that was.
  [[nodiscard]] bool is_rescued() const { return !moved_.empty(); }

  /// The events of a process that does not write, since they were last taken.
  [[nodiscard]] std::vector<store::Event> take_unsent();

 private:
  bool try_to_write();
  void write_to_run(std::span<const store::Snapshot> batch);
  void hold_pending();
  void drop_oldest();
  [[nodiscard]] store::Snapshot gap_snapshot() const;

  std::optional<store::RunWriter> run_;
  std::function<double()> seconds_;
  pid_t owner_;

  std::mutex adding_;  // of what is pending
  std::list<store::Snapshot> pending_;
  std::map<std::string, std::string> pending_facts_;

  mutable std::mutex writing_;       // of all that follows, and of run_
  std::list<store::Snapshot> held_;  // to be written next
  std::size_t held_bytes_ = 0;
  std::vector<store::Event> unsent_;
  double written_, next_try_ = 0, delay_ = 0;  // delay_ 0: the last attempt went well
  std::string why_;                            // it did not
  std::optional<std::pair<std::int64_t, std::int64_t>> dropped_;  // first and last step
  std::string moved_;  // why the run is written to a copy
  bool moved_reported_ = false;
};

}  // namespace kappascope::session
