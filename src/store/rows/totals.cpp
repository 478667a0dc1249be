// SPDX-License-Identifier: Apache-2.0
#include "store/rows/totals.h"

#include <fmt/format.h>

#include <string_view>

#include "store/rows/tables.h"

namespace kappascope::store {
namespace {

/// The sum of the rows' checksums. One that is no such number was damaged: nothing overflows.
constexpr const char* kSum = "ifnull(sum(crc & 4294967295), 0)";

bool has_series(const CheckedTable& table) {
  return table.name == std::string_view(kScalars.name) ||
         table.name == std::string_view(kArrays.name);
}

Total total_at(const SQLite::Statement& row, int column) {
  return {row.getColumn(column).getInt64(), row.getColumn(column + 1).getInt64()};
}

std::string rows_text(std::int64_t count) {
  return fmt::format("{} row{}", count, count == 1 ? "" : "s");
}

/// SELECT of what is written of totals, of those that are as they were written.
std::string select_totals(const char* where) {
  return fmt::format("SELECT name, layer, rows, sum FROM {} WHERE ({}) IS NULL AND {}",
                     kTotals.name,
                     damage_of(kTotals, kFirstWithTotals),
                     where);
}

}  // namespace

std::string Counted::text() const {
  if (table == kSnapshots.name) return "the times of the steps";
  if (table != kScalars.name && table != kArrays.name) return "the " + table;
  return layer.empty() ? name : name + " of " + layer;
}

void TotalChanges::write(SQLite::Database& sql) const {
  SQLite::Statement put(sql,
                        "INSERT INTO totals(of, name, layer, rows, sum, crc) "
                        "VALUES(?1, ?2, ?3, ?4, ?5, row_crc(?1, ?2, ?3, ?4, ?5)) "
                        // One that is damaged stays so.
                        "ON CONFLICT DO UPDATE SET rows = rows + ?4, sum = sum + ?5, "
                        "crc = CASE WHEN crc IS row_crc(of, name, layer, rows, sum) "
                        "THEN row_crc(of, name, layer, rows + ?4, sum + ?5) ELSE crc END");
  for (const auto& [counted, by] : changes_) {
    put.bindNoCopy(1, counted.table);
    put.bindNoCopy(2, counted.name);
    put.bindNoCopy(3, counted.layer);
    put.bind(4, by.rows);
    put.bind(5, by.sum);
    put.exec();
    put.reset();
  }
}

std::optional<Total> total_of(SQLite::Database& sql, const Counted& counted) {
  SQLite::Statement find(sql, select_totals("of = ? AND name = ? AND layer = ?"));
  find.bindNoCopy(1, counted.table);
  find.bindNoCopy(2, counted.name);
  find.bindNoCopy(3, counted.layer);
  if (!find.executeStep()) return std::nullopt;
  return total_at(find, 2);
}

std::map<Counted, Total> totals_of(SQLite::Database& sql, const CheckedTable& table) {
  SQLite::Statement all(sql, select_totals("of = ?"));
  all.bind(1, table.name);
  std::map<Counted, Total> totals;
  while (all.executeStep())
    totals[{table.name, all.getColumn(0).getString(), all.getColumn(1).getString()}] =
        total_at(all, 2);
  return totals;
}

std::map<Counted, Total> counted_rows(SQLite::Database& sql,
                                      const CheckedTable& table,
                                      const std::string& where) {
  std::map<Counted, Total> totals;
  if (!has_series(table)) {
    SQLite::Statement count(sql,
                            fmt::format("SELECT count(*), {} FROM {} {}", kSum, table.name, where));
    if (count.executeStep()) totals[{table.name, "", ""}] = total_at(count, 0);
    return totals;
  }
  SQLite::Statement count(
      sql,
      fmt::format("SELECT name, layer, count(*), {} FROM {} {} GROUP BY name, layer "
                  "HAVING typeof(name) = 'text' AND typeof(layer) = 'text'",
                  kSum,
                  table.name,
                  where));
  while (count.executeStep())
    totals[{table.name, count.getColumn(0).getString(), count.getColumn(1).getString()}] =
        total_at(count, 2);
  return totals;
}

std::string difference(const Counted& counted,
                       const std::optional<Total>& written,
                       const Total& found,
                       bool damaged) {
  if (!written) {
    if (damaged || found.rows == 0) return "";
    return fmt::format("{}: how many rows there were is not known", counted.text());
  }
  if (found.rows < written->rows)
    return fmt::format("{}: {} of {} missing",
                       counted.text(),
                       written->rows - found.rows,
                       rows_text(written->rows));
  if (found.rows > written->rows)
    return fmt::format(
        "{}: {} more than were written", counted.text(), rows_text(found.rows - written->rows));
  if (damaged || found.sum == written->sum) return "";
  return fmt::format("{}: its rows are not those that were written last", counted.text());
}

void fill_totals(SQLite::Database& sql) {
  for (const auto& table : kCountedTables)
    sql.exec(fmt::format(
        "INSERT INTO totals(of, name, layer, rows, sum) SELECT '{0}', {1}, count(*), {2} FROM {0} "
        "{3}",
        table.name,
        has_series(table) ? "name, layer" : "'', ''",
        kSum,
        has_series(table) ? "WHERE typeof(name) = 'text' AND typeof(layer) = 'text' "
                            "GROUP BY name, layer"
                          : ""));
  sql.exec(fmt::format("UPDATE totals SET crc = row_crc({})", kTotals.columns));
}

void migrate_version3(SQLite::Database& sql) {
  SQLite::Transaction transaction(sql, SQLite::TransactionBehavior::IMMEDIATE);
  make_table(sql, kTotals.name);
  fill_totals(sql);
  sql.exec("PRAGMA user_version = 4");
  transaction.commit();
}

}  // namespace kappascope::store
