// SPDX-License-Identifier: Apache-2.0
// The tables of a run, and a CRC-32 in every row, by which a reader sees that it is what was
// written.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <cstdint>

namespace kappascope::store {

/// A table whose rows have a checksum in the column `crc`.
struct CheckedTable {
  const char* name;
  const char* columns;  ///< what the checksum is of
  const char* label;    ///< an SQL expression that names a row to a reader
  /// Of a row that can be found by what it belongs to; SQLite keeps what does not fit the type of a
  /// column as it is, and orders it apart.
  const char* types = "1";
  bool has_step = false;  ///< a column `step`, which is at most kLargestStep either way
};

/// The largest that a double, and so the axis of a figure, holds with all its neighbours.
inline constexpr std::int64_t kLargestStep = std::int64_t{1} << 53U;

inline constexpr CheckedTable kFacts{
    "facts", "key, value", "'the fact ' || ifnull(key, 'without a name')", "typeof(key) = 'text'"};
inline constexpr CheckedTable kSnapshots{
    "snapshots", "step, time", "'the time of step ' || step", "1", true};
inline constexpr CheckedTable kScalars{
    "scalars",
    "name, layer, step, value, lower, upper, n, n_effective, status, attributes",
    "ifnull(name, 'a number without a name') || CASE WHEN layer <> '' THEN ' of ' || layer ELSE '' "
    "END || ', step ' || ifnull(step, 'unknown')",
    "typeof(name) = 'text' AND typeof(layer) = 'text' AND typeof(step) = 'integer'",
    true};
inline constexpr CheckedTable kArrays{
    "arrays", "name, layer, step, dtype, shape, data", kScalars.label, kScalars.types, true};
inline constexpr CheckedTable kEvents{"events",
                                      "step, time, kind, message",
                                      "'an event of step ' || ifnull(step, 'unknown')",
                                      "typeof(step) = 'integer'",
                                      true};
inline constexpr CheckedTable kVerdicts{
    "verdicts",
    "claim, outcome, condition, json, time",
    "'the verdict on ' || ifnull(claim, 'a claim without a name')",
    "typeof(claim) = 'text'"};
/// Those whose rows are counted in kTotals.
inline constexpr std::array kCountedTables = {
    kFacts, kSnapshots, kScalars, kArrays, kEvents, kVerdicts};
inline constexpr CheckedTable kTotals{
    "totals",
    "of, name, layer, rows, sum",
    "'the number of rows of ' || of || ' ' || substr(name, 1, 100)",
    "length(CAST(name AS BLOB)) <= 1000 AND length(CAST(layer AS BLOB)) <= 1000"};  // kLongestName

/// The first schema version whose rows have a checksum.
inline constexpr int kFirstWithChecksums = 3;

/// Gives the connection the SQL function row_crc(value, ...): CRC-32 over the type, length and
/// bytes of each value. Both zeros are the same, as SQLite does not keep the sign of one.
void add_row_crc(SQLite::Database& sql);

/// What row_crc() gave last in this thread: of the row that was just written. (For a RETURNING
/// clause SQLite makes a table.)
std::int64_t last_row_crc();

/// An expression that is NULL for a row that fits its checksum and the types of its keys, and for
/// every row of a schema version without checksums; for any other row its label, which never is
/// NULL.
std::string damage_of(const CheckedTable& table, int schema_version);

/// Adds the column to a database of schema version 2, in one transaction, and makes it version 3.
void migrate_version2(SQLite::Database& sql);

}  // namespace kappascope::store
