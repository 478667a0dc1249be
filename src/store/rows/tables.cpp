// SPDX-License-Identifier: Apache-2.0
#include "store/rows/tables.h"

#include <array>
#include <cctype>
#include <string_view>

#include "store/rows/row_checksum.h"
#include "store/rows/totals.h"

namespace kappascope::store {
namespace {

struct Table {
  const char* name = nullptr;
  const char* sql = nullptr;
  int since = 1;  ///< the first schema version that has it
};

constexpr std::array kTables = {
    Table{"facts", "CREATE TABLE facts(key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER)"},
    Table{"snapshots",
          "CREATE TABLE snapshots(step INTEGER PRIMARY KEY, time TEXT NOT NULL, crc INTEGER)"},
    Table{"scalars",
          "CREATE TABLE scalars(name TEXT NOT NULL, layer TEXT NOT NULL, step INTEGER NOT NULL, "
          "value REAL, lower REAL, upper REAL, n REAL, n_effective REAL, status TEXT NOT NULL, "
          "attributes TEXT, crc INTEGER, PRIMARY KEY(name, layer, step)) WITHOUT ROWID"},
    Table{"arrays",
          "CREATE TABLE arrays(name TEXT NOT NULL, layer TEXT NOT NULL, step INTEGER NOT NULL, "
          "dtype TEXT NOT NULL, shape TEXT NOT NULL, data BLOB NOT NULL, crc INTEGER, "
          "PRIMARY KEY(name, layer, step))"},
    Table{"events",
          "CREATE TABLE events(id INTEGER PRIMARY KEY, step INTEGER NOT NULL, time TEXT NOT NULL, "
          "kind TEXT NOT NULL, message TEXT NOT NULL, crc INTEGER)"},
    Table{"verdicts",
          "CREATE TABLE verdicts(claim TEXT PRIMARY KEY, outcome TEXT NOT NULL, "
          "condition TEXT NOT NULL, json TEXT NOT NULL, time TEXT NOT NULL, crc INTEGER)"},
    Table{"totals",
          "CREATE TABLE totals(of TEXT NOT NULL, name TEXT NOT NULL, layer TEXT NOT NULL, "
          "rows INTEGER NOT NULL, sum INTEGER NOT NULL, crc INTEGER, "
          "PRIMARY KEY(of, name, layer)) WITHOUT ROWID",
          kFirstWithTotals}};

/// Without white space: programs of every version wrote the same, in other lines.
std::string compact(std::string_view sql) {
  std::string text;
  for (const char c : sql)
    if (std::isspace(static_cast<unsigned char>(c)) == 0) text += c;
  return text;
}

void remove(std::string& text, std::string_view part) {
  if (const auto at = text.find(part); at != std::string::npos) text.erase(at, part.size());
}

/// The statement as a program of that version wrote it.
std::string of_version(const Table& table, int version) {
  auto sql = compact(table.sql);
  if (version < kFirstWithChecksums) remove(sql, ",crcINTEGER");
  if (version < 2) remove(sql, ",attributesTEXT");
  return sql;
}

}  // namespace

void make_tables(SQLite::Database& sql) {
  for (const auto& table : kTables) sql.exec(table.sql);
}

void make_table(SQLite::Database& sql, const std::string& name) {
  for (const auto& table : kTables)
    if (table.name == name) sql.exec(table.sql);
}

std::string strange_table(SQLite::Database& sql, int schema_version) {
  SQLite::Statement find(sql, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?");
  for (const auto& table : kTables) {
    if (schema_version < table.since) continue;
    find.bind(1, table.name);
    if (!find.executeStep() ||
        compact(find.getColumn(0).getString()) != of_version(table, schema_version))
      return table.name;
    find.reset();
  }
  return "";
}

}  // namespace kappascope::store
