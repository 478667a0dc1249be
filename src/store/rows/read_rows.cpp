// SPDX-License-Identifier: Apache-2.0
#include "store/rows/read_rows.h"

#include <fmt/format.h>

#include "store/database/database.h"

namespace kappascope::store {
namespace {

/// Behind the columns asked for: what is damaged, the checksum, and of a series its key.
std::string select(SQLite::Database& sql,
                   const CheckedTable& table,
                   const std::string& columns,
                   const std::string& key,
                   const std::string& rest) {
  const int version = Database::version(sql);
  return fmt::format("SELECT {}, {}, {}{} FROM {}{}",
                     columns,
                     damage_of(table, version),
                     version < kFirstWithChecksums ? "0" : "crc",
                     key,
                     table.name,
                     rest);
}

bool is(const SQLite::Column& column, const std::string& text) {
  return column.isText() && column.getString() == text;
}

}  // namespace

RowQuery::RowQuery(SQLite::Database& sql,
                   const CheckedTable& table,
                   const std::string& columns,
                   const std::string& rest,
                   Damage& damage)
    : sql_(sql),
      counted_{table.name, "", ""},
      damage_(damage),
      query_(sql, select(sql, table, columns, "", rest)),
      extra_(query_.getColumnCount() - 2) {}

RowQuery::RowQuery(SQLite::Database& sql,
                   const CheckedTable& table,
                   const std::string& columns,
                   const std::string& name,
                   const std::string& layer,
                   std::int64_t from,
                   Damage& damage)
    : sql_(sql),
      counted_{table.name, name, layer},
      damage_(damage),
      query_(sql,
             select(sql,
                    table,
                    columns,
                    ", name, layer",
                    " WHERE name = ? AND layer = ? AND step >= ? ORDER BY step")),
      extra_(query_.getColumnCount() - 4) {
  query_.bind(1, name);
  query_.bind(2, layer);
  query_.bind(3, from);
}

bool RowQuery::is_of_series() {
  if (counted_.name.empty()) return true;
  if (!is(query_.getColumn(extra_ + 2), counted_.name) ||
      !is(query_.getColumn(extra_ + 3), counted_.layer)) {
    damage_.insert(counted_.text() + ": a row of another series stands in its place");
    return false;
  }
  const auto step = query_.getColumn(0).getInt64();
  if (last_ && step <= *last_) {
    damage_.insert(fmt::format("{}: step {} is there again", counted_.text(), step));
    return false;
  }
  last_ = step;
  return true;
}

bool RowQuery::next() {
  while (query_.executeStep()) {
    const auto damage = query_.getColumn(extra_);
    const bool whole = damage.isNull() && is_of_series();
    if (!damage.isNull()) damage_.insert(damage.getString());
    damaged_ = damaged_ || !whole;
    // A row of elsewhere does not stand for one that is missing here.
    if (whole || !damage.isNull()) ++found_.rows;
    if (!whole) continue;
    found_.sum += query_.getColumn(extra_ + 1).getInt64();
    return true;
  }
  return false;
}

void RowQuery::require_all() {
  if (Database::version(sql_) < kFirstWithTotals) return;
  const auto text = difference(counted_, total_of(sql_, counted_), found_, damaged_);
  if (!text.empty()) damage_.insert(text);
}

}  // namespace kappascope::store
