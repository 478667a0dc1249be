// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/run_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "kappascope/core/atomic_file.h"
#include "kappascope/core/require.h"
#include "kappascope/core/time.h"
#include "kappascope/store/schema/schema.h"
#include "kappascope/store/writer_lock.h"
#include "store/database/array_codec.h"
#include "store/database/database.h"
#include "store/schema/attributes.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

/// Commits are made durable at least this often: a flush costs milliseconds.
constexpr double kDurableSeconds = 30;

constexpr std::array<std::string_view, 4> kStates{"running", "finished", "interrupted", "failed"};

void bind_number(SQLite::Statement& statement, int index, std::optional<double> number) {
  if (number && !std::isnan(*number)) {
    statement.bind(index, *number);
  } else {
    statement.bind(index);  // NULL
  }
}

void put_snapshot(SQLite::Database& sql, std::int64_t step, const std::string& time) {
  // What is added later, a spectrum say, is not when the step was taken.
  SQLite::Statement put(
      sql, "INSERT OR IGNORE INTO snapshots(step, time, crc) VALUES(?1, ?2, row_crc(?1, ?2))");
  put.bind(1, step);
  put.bind(2, time);
  put.exec();
}

void put_scalars(SQLite::Database& sql, std::int64_t step, const std::vector<Scalar>& scalars) {
  SQLite::Statement put(sql,
                        "INSERT OR REPLACE INTO scalars(name, layer, step, value, lower, upper, n, "
                        "n_effective, status, attributes, crc) "
                        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
                        "row_crc(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))");
  for (const Scalar& scalar : scalars) {
    put.bindNoCopy(1, scalar.name);
    put.bindNoCopy(2, scalar.layer);
    put.bind(3, step);
    bind_number(put, 4, scalar.value);
    bind_number(put, 5, scalar.lower);
    bind_number(put, 6, scalar.upper);
    bind_number(put, 7, scalar.n);
    bind_number(put, 8, scalar.n_effective);
    put.bind(9, std::string(scalar.status.text()));
    if (scalar.attributes.empty()) {
      put.bind(10);  // NULL
    } else {
      put.bind(10, attributes_text(scalar.attributes));
    }
    put.exec();
    put.reset();
  }
}

void put_arrays(SQLite::Database& sql, std::int64_t step, const std::vector<Array>& arrays) {
  SQLite::Statement put(sql,
                        "INSERT OR REPLACE INTO arrays(name, layer, step, dtype, shape, data, crc) "
                        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, row_crc(?1, ?2, ?3, ?4, ?5, ?6))");
  for (const Array& array : arrays) {
    const std::string bytes = to_little_endian(array.data);
    put.bindNoCopy(1, array.name);
    put.bindNoCopy(2, array.layer);
    put.bind(3, step);
    put.bind(4, kArrayDtype);
    put.bind(5, shape_text(array.shape));
    put.bindNoCopy(6, bytes.data(), static_cast<int>(bytes.size()));
    put.exec();
    put.reset();
  }
}

void put_events(SQLite::Database& sql,
                std::int64_t step,
                const std::string& time,
                const std::vector<Event>& events) {
  SQLite::Statement put(sql,
                        "INSERT INTO events(step, time, kind, message, crc) "
                        "VALUES(?1, ?2, ?3, ?4, row_crc(?1, ?2, ?3, ?4))");
  for (const Event& event : events) {
    put.bind(1, step);
    put.bindNoCopy(2, time);
    put.bindNoCopy(3, event.kind);
    put.bindNoCopy(4, event.message);
    put.exec();
    put.reset();
  }
}

void remove_after(SQLite::Database& sql, std::int64_t step) {
  for (const char* table : {"scalars", "arrays", "events", "snapshots"}) {
    SQLite::Statement remove(sql, fmt::format("DELETE FROM {} WHERE step > ?", table));
    remove.bind(1, step);
    remove.exec();
  }
}

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

  template <typename Body>
  void commit(std::string_view action, Body&& body) {
    database.require_reachable();
    database.run(action, [&](SQLite::Database& sql) {
      SQLite::Transaction transaction(sql);
      body(sql);
      transaction.commit();
    });
    if (clock() - durable_since > kDurableSeconds) make_durable();
  }

  void make_durable() {
    database.make_durable();
    durable_since = clock();
  }

  fs::path dir;
  WriterLock lock;  // before the database: given back after that is closed
  Database database;
  std::function<double()> clock = monotonic_seconds;
  double durable_since = clock();
};

RunWriter::RunWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter& RunWriter::operator=(RunWriter&&) noexcept = default;
RunWriter::~RunWriter() = default;

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
    remove_after(sql, step);
    put_events(
        sql, step, utc_now(), {{"resumed", fmt::format("resumed after {} steps", step + 1)}});
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
    for (const auto& snapshot : snapshots) {
      put_snapshot(sql, snapshot.step, time);
      put_scalars(sql, snapshot.step, snapshot.scalars);
      put_arrays(sql, snapshot.step, snapshot.arrays);
      put_events(sql, snapshot.step, time, snapshot.events);
    }
  });
}

void RunWriter::set_fact(const std::string& key, const std::string& value) {
  require(key != "state", "the state of a run is set by set_state, not as a fact");
  impl_->commit("write", [&](SQLite::Database& sql) { put_fact(sql, key, value); });
}

void RunWriter::write_verdict(const VerdictRow& verdict) {
  impl_->commit("write", [&](SQLite::Database& sql) {
    SQLite::Statement put(
        sql,
        "INSERT INTO verdicts(claim, outcome, condition, json, time, crc) "
        "VALUES(?1, ?2, ?3, ?4, ?5, row_crc(?1, ?2, ?3, ?4, ?5)) ON CONFLICT(claim) DO UPDATE SET "
        "outcome = excluded.outcome, condition = excluded.condition, "
        "json = excluded.json, time = excluded.time, crc = excluded.crc");
    put.bind(1, verdict.claim);
    put.bind(2, verdict.outcome);
    put.bind(3, verdict.condition);
    put.bind(4, verdict.json);
    put.bind(5, utc_now());
    put.exec();
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
