// SPDX-License-Identifier: Apache-2.0
#include "store/check.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "kappascope/store/record.h"
#include "store/database/database.h"
#include "store/rows/row_checksum.h"
#include "store/rows/totals.h"

namespace kappascope::store {
namespace {

/// SQLite tells a page that it could not read among the damage; that is so on a disk that fails,
/// and where there is no memory it is no damage at all.
void require_read(const std::string& text) {
  constexpr std::string_view kCode = "error code";
  const auto found = text.find(kCode);
  if (found == std::string::npos) return;
  const auto digits = std::min(found + kCode.size() + 1, text.size());  // behind "=" or a blank
  const int code = std::atoi(text.c_str() + digits);
  if ((code & 0xFF) == SQLITE_IOERR || (code & 0xFF) == SQLITE_NOMEM)
    throw SQLite::Exception(text, code);
}

/// What SQLite finds wrong with its pages and keys, at most ten sentences.
void check_pages(SQLite::Database& sql, StoreCheck& found) {
  SQLite::Statement query(sql, "PRAGMA integrity_check(10)");
  while (query.executeStep()) {
    const auto text = query.getColumn(0).getString();
    require_read(text);
    if (text != "ok") found.damage.push_back(text);
  }
}

/// Returns whether every row is as it was written.
bool check_rows(SQLite::Database& sql, const CheckedTable& table, StoreCheck& found) {
  const auto before = found.damage.size();
  SQLite::Statement query(
      sql, fmt::format("SELECT {} FROM {}", damage_of(table, Database::version(sql)), table.name));
  for (; query.executeStep(); ++found.rows) {
    if (!query.getColumn(0).isNull()) found.damage.push_back(query.getColumn(0).getString());
  }
  return found.damage.size() == before;
}

/// Compares the rows that are there with how many were written.
void check_totals(SQLite::Database& sql, const CheckedTable& table, bool whole, StoreCheck& found) {
  auto written = totals_of(sql, table);
  for (const auto& [counted, total] : counted_rows(sql, table)) {
    if (std::max(counted.name.size(), counted.layer.size()) > kLongestName) {
      found.damage.push_back(
          fmt::format("a name in the table {} has more than {} bytes", table.name, kLongestName));
      continue;
    }
    const auto known = written.find(counted);
    const auto text =
        difference(counted,
                   known == written.end() ? std::nullopt : std::optional(known->second),
                   total,
                   !whole);
    if (!text.empty()) found.damage.push_back(text);
    if (known != written.end()) written.erase(known);
  }
  for (const auto& [counted, total] : written)
    if (total.rows > 0) found.damage.push_back(difference(counted, total, {}, !whole));
}

}  // namespace

StoreCheck check_store(const std::filesystem::path& dir) {
  StoreCheck found;
  Database database(dir, Database::Access::kRead);
  database.run("check", [&](SQLite::Database& sql) {
    const SQLite::Transaction transaction(sql);  // of one moment
    found.checksums = Database::version(sql) >= kFirstWithChecksums;
    check_pages(sql, found);
    // Behind a broken page there is no telling which rows are missing.
    if (!found.damage.empty()) return;
    const bool counted = Database::version(sql) >= kFirstWithTotals;
    if (counted) check_rows(sql, kTotals, found);
    for (const auto& table : kCountedTables) {
      const bool whole = check_rows(sql, table, found);
      if (counted) check_totals(sql, table, whole, found);
    }
  });
  return found;
}

}  // namespace kappascope::store
