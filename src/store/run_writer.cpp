// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/run_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/atomic_file.h"
#include "core/require.h"
#include "core/time.h"
#include "kappascope/store/schema/schema.h"
#include "store/database/database.h"
#include "store/database/writer_lock.h"
#include "store/rows/totals.h"
#include "store/rows/write_rows.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

/// Commits are made durable at least this often: a flush costs milliseconds.
constexpr double kDurableSeconds = 30;

constexpr std::array<std::string_view, 4> kStates{"running", "finished", "interrupted", "failed"};

}  // namespace

struct RunWriter::Impl {
  /// Opens the run that is there.
  explicit Impl(const fs::path& run)
      : dir(run), lock(existing(run)), database(run, Database::Access::kWrite) {}
  /// Makes a new one.
  Impl(const fs::path& run, const Facts& facts)
      : dir(run), lock(directory(run)), database(made(run, facts)) {}

  static const fs::path& existing(const fs::path& run) {
    Database::require_there(run);
    return run;
  }

  static const fs::path& directory(const fs::path& run) {
    make_directories(run);
    return run;
  }

  static Database made(const fs::path& run, const Facts& facts) {
    require(!holds_run(run), "{} already holds a run", run.string());
    Database::create(run, facts);
    return {run, Database::Access::kWrite};
  }

  [[nodiscard]] bool is_own() const { return getpid() == owner; }

  template <typename Body>
  void commit(std::string_view action, Body&& body) {
    require(is_own(),
            "cannot {} {}: it belongs to process {}, from which this one was forked",
            action,
            dir.string(),
            owner);
    database.require_reachable();
    database.run(action, [&](SQLite::Database& sql) {
      // The right to write first: what has read already is not waited for by SQLite.
      SQLite::Transaction transaction(sql, SQLite::TransactionBehavior::IMMEDIATE);
      body(sql);
      transaction.commit();
    });
    if (clock() - durable_since > kDurableSeconds) make_durable();
  }

  void make_durable() {
    database.make_durable();
    durable_since = clock();
  }

  pid_t owner = getpid();
  fs::path dir;
  WriterLock lock;  // before the database: given back after that is closed
  Database database;
  std::function<double()> clock = monotonic_seconds;
  double durable_since = clock();
};

RunWriter::RunWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter& RunWriter::operator=(RunWriter&& other) noexcept {
  leave_to_owner();
  impl_ = std::move(other.impl_);
  return *this;
}
RunWriter::~RunWriter() {
  leave_to_owner();
}

void RunWriter::leave_to_owner() {
  // SQLite asks that nothing be done with a connection from before a fork, not even closing it.
  if (impl_ && !impl_->is_own()) static_cast<void>(impl_.release());
}

bool RunWriter::holds_run(const fs::path& dir) {
  std::error_code ignored;
  return fs::exists(database_file(dir), ignored);
}

bool RunWriter::is_half_made(const fs::path& dir) {
  std::error_code error;
  fs::directory_iterator entries(dir, error);
  if (error || WriterLock::held(dir)) return false;
  return std::all_of(fs::begin(entries), fs::end(entries), [&](const fs::directory_entry& entry) {
    const auto name = entry.path().filename();
    return name == WriterLock::kName ||
           name.string().starts_with(Database::unfinished(dir).filename().string());
  });
}

fs::path RunWriter::rescue_of(const fs::path& dir) {
  const auto copy = Database::rescue_place(dir);
  return holds_run(copy) ? copy : fs::path();
}

RunWriter RunWriter::create(const fs::path& dir, const Facts& facts) {
  RunWriter writer(std::make_unique<Impl>(dir, facts));
  writer.make_durable();
  return writer;
}

RunWriter RunWriter::resume(const fs::path& dir, std::int64_t step) {
  RunWriter writer(std::make_unique<Impl>(dir));
  writer.impl_->commit("resume", [&](SQLite::Database& sql) {
    TotalChanges totals;
    remove_after(sql, step, totals);
    put_events(sql,
               step,
               utc_now(),
               {{"resumed", fmt::format("resumed after {} steps", step + 1)}},
               totals);
    totals.write(sql);
    put_fact(sql, "state", "running");
  });
  return writer;
}

RunWriter RunWriter::append(const fs::path& dir) {
  return RunWriter(std::make_unique<Impl>(dir));
}

void RunWriter::write(const Snapshot& snapshot) {
  write(std::span(&snapshot, 1));
}

void RunWriter::write(std::span<const Snapshot> snapshots) {
  for (const auto& snapshot : snapshots) require_in_schema(snapshot);
  const std::string time = utc_now();
  impl_->commit("write", [&](SQLite::Database& sql) {
    TotalChanges totals;
    for (const auto& snapshot : snapshots) {
      const bool is_new = put_snapshot(sql, snapshot.step, time, totals);
      put_scalars(sql, snapshot.step, snapshot.scalars, is_new, totals);
      put_arrays(sql, snapshot.step, snapshot.arrays, is_new, totals);
      put_events(sql, snapshot.step, time, snapshot.events, totals);
    }
    totals.write(sql);
  });
}

void RunWriter::set_fact(const std::string& key, const std::string& value) {
  require(key != "state", "the state of a run is set by set_state, not as a fact");
  impl_->commit("write", [&](SQLite::Database& sql) { put_fact(sql, key, value); });
}

void RunWriter::write_verdict(const VerdictRow& verdict) {
  impl_->commit("write", [&](SQLite::Database& sql) {
    TotalChanges totals;
    put_verdict(sql, verdict, totals);
    totals.write(sql);
  });
}

void RunWriter::set_state(const std::string& state) {
  require(std::find(kStates.begin(), kStates.end(), state) != kStates.end(),
          "a run is running, finished, interrupted or failed, not '{}'",
          state);
  impl_->commit("write", [&](SQLite::Database& sql) { put_fact(sql, "state", state); });
  make_durable();
}

void RunWriter::make_durable() {
  impl_->make_durable();
}

void RunWriter::use_clock(std::function<double()> seconds) {
  impl_->clock = std::move(seconds);
  impl_->durable_since = impl_->clock();
}

fs::path RunWriter::rescued() const {
  return impl_->database.rescued();
}

const fs::path& RunWriter::dir() const {
  return impl_->dir;
}

}  // namespace kappascope::store
