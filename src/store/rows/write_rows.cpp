// SPDX-License-Identifier: Apache-2.0
#include "store/rows/write_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/time.h"
#include "store/rows/array_codec.h"
#include "store/rows/row_checksum.h"
#include "store/schema/attributes.h"

namespace kappascope::store {
namespace {

void bind_number(SQLite::Statement& statement, int index, std::optional<double> number) {
  if (number && !std::isnan(*number)) {
    statement.bind(index, *number);
  } else {
    statement.bind(index);  // NULL
  }
}

/// The checksum of the row that `put` has written; nothing where it wrote none.
std::optional<std::int64_t> write_row(SQLite::Statement& put) {
  const int rows = put.exec();
  put.reset();
  return rows > 0 ? std::optional(last_row_crc()) : std::nullopt;
}

/// Of two records of one series in a snapshot the second replaces the first.
template <typename Record>
bool repeats_a_series(const std::vector<Record>& records) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  return !std::ranges::all_of(records, [&](const Record& record) {
    return seen.emplace(record.name, record.layer).second;
  });
}

/// Takes the row that is about to be replaced from the totals.
void take_old(SQLite::Statement& find,
              const std::string& name,
              const std::string& layer,
              std::int64_t step,
              const Counted& counted,
              TotalChanges& totals) {
  find.bindNoCopy(1, name);
  find.bindNoCopy(2, layer);
  find.bind(3, step);
  if (find.executeStep()) totals.remove(counted, {1, find.getColumn(0).getInt64()});
  find.reset();
}

}  // namespace

bool put_snapshot(SQLite::Database& sql,
                  std::int64_t step,
                  const std::string& time,
                  TotalChanges& totals) {
  // What is added later, a spectrum say, is not when the step was taken.
  SQLite::Statement put(sql,
                        "INSERT OR IGNORE INTO snapshots(step, time, crc) "
                        "VALUES(?1, ?2, row_crc(?1, ?2))");
  put.bind(1, step);
  put.bind(2, time);
  const auto crc = write_row(put);
  if (crc) totals.add({kSnapshots.name, "", ""}, *crc);
  return crc.has_value();
}

void put_scalars(SQLite::Database& sql,
                 std::int64_t step,
                 const std::vector<Scalar>& scalars,
                 bool is_new,
                 TotalChanges& totals) {
  SQLite::Statement find(sql, "SELECT crc FROM scalars WHERE name = ? AND layer = ? AND step = ?");
  SQLite::Statement put(sql,
                        "INSERT OR REPLACE INTO scalars(name, layer, step, value, lower, upper, n, "
                        "n_effective, status, attributes, crc) "
                        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
                        "row_crc(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))");
  const bool replaces = !is_new || repeats_a_series(scalars);
  for (const Scalar& scalar : scalars) {
    const Counted series{kScalars.name, scalar.name, scalar.layer};
    if (replaces) take_old(find, scalar.name, scalar.layer, step, series, totals);
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
    totals.add(series, write_row(put).value());
  }
}

void put_arrays(SQLite::Database& sql,
                std::int64_t step,
                const std::vector<Array>& arrays,
                bool is_new,
                TotalChanges& totals) {
  SQLite::Statement find(sql, "SELECT crc FROM arrays WHERE name = ? AND layer = ? AND step = ?");
  SQLite::Statement put(sql,
                        "INSERT OR REPLACE INTO arrays(name, layer, step, dtype, shape, data, crc) "
                        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, row_crc(?1, ?2, ?3, ?4, ?5, ?6)) ");
  const bool replaces = !is_new || repeats_a_series(arrays);
  for (const Array& array : arrays) {
    const Counted series{kArrays.name, array.name, array.layer};
    if (replaces) take_old(find, array.name, array.layer, step, series, totals);
    const std::string bytes = to_little_endian(array.data);
    put.bindNoCopy(1, array.name);
    put.bindNoCopy(2, array.layer);
    put.bind(3, step);
    put.bind(4, kArrayDtype);
    put.bind(5, shape_text(array.shape));
    put.bindNoCopy(6, bytes.data(), static_cast<int>(bytes.size()));
    totals.add(series, write_row(put).value());
  }
}

void put_events(SQLite::Database& sql,
                std::int64_t step,
                const std::string& time,
                const std::vector<Event>& events,
                TotalChanges& totals) {
  SQLite::Statement put(sql,
                        "INSERT INTO events(step, time, kind, message, crc) "
                        "VALUES(?1, ?2, ?3, ?4, row_crc(?1, ?2, ?3, ?4))");
  for (const Event& event : events) {
    put.bind(1, step);
    put.bindNoCopy(2, time);
    put.bindNoCopy(3, event.kind);
    put.bindNoCopy(4, event.message);
    totals.add({kEvents.name, "", ""}, write_row(put).value());
  }
}

void put_verdict(SQLite::Database& sql, const VerdictRow& verdict, TotalChanges& totals) {
  const Counted verdicts{kVerdicts.name, "", ""};
  SQLite::Statement find(sql, "SELECT crc FROM verdicts WHERE claim = ?");
  find.bind(1, verdict.claim);
  if (find.executeStep()) totals.remove(verdicts, {1, find.getColumn(0).getInt64()});
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
  totals.add(verdicts, write_row(put).value());
}

void remove_after(SQLite::Database& sql, std::int64_t step, TotalChanges& totals) {
  const auto after = fmt::format("WHERE step > {}", step);
  for (const auto& table : {kScalars, kArrays, kEvents, kSnapshots}) {
    for (const auto& [counted, total] : counted_rows(sql, table, after))
      totals.remove(counted, total);
    sql.exec(fmt::format("DELETE FROM {} {}", table.name, after));
  }
}

}  // namespace kappascope::store
