// SPDX-License-Identifier: Apache-2.0
// How many rows there were, by which a reader sees that none is missing: no checksum of a row tells
// that of one that is gone.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "store/rows/row_checksum.h"

namespace kappascope::store {

/// The first schema version that counts its rows.
inline constexpr int kFirstWithTotals = 4;

/// What is counted together: the rows of a series of scalars or arrays, or all of another table.
struct Counted {
  std::string table, name, layer;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the defaulted operator
  auto operator<=>(const Counted&) const = default;

  /// "kappa/sigma of blocks.0", "the facts".
  [[nodiscard]] std::string text() const;
};

struct Total {
  std::int64_t rows = 0;
  std::int64_t sum = 0;  ///< of their checksums
};

/// What one transaction changes of the totals; write() before its end.
class TotalChanges {
 public:
  void add(const Counted& counted, std::int64_t crc) { change(counted, {1, crc}); }
  void remove(const Counted& counted, const Total& total) {
    change(counted, {-total.rows, -total.sum});
  }
  void write(SQLite::Database& sql) const;

 private:
  void change(const Counted& counted, const Total& by) {
    auto& total = changes_[counted];
    total.rows += by.rows;
    total.sum += by.sum;
  }

  std::map<Counted, Total> changes_;
};

/// The total as it was written; nothing where there is none, or it is damaged.
std::optional<Total> total_of(SQLite::Database& sql, const Counted& counted);

/// All of one table of series: by name and layer. Damaged ones are left out.
std::map<Counted, Total> totals_of(SQLite::Database& sql, const CheckedTable& table);

/// What the rows that are there amount to, counted anew; those whose checksum is no number, or
/// whose name is no text, are told as damaged themselves.
std::map<Counted, Total> counted_rows(SQLite::Database& sql,
                                      const CheckedTable& table,
                                      const std::string& where = "");

/// What is wrong with `found` rows where there should be `written`; empty: nothing. Sums are
/// compared unless one of the rows is known to be `damaged`.
std::string difference(const Counted& counted,
                       const std::optional<Total>& written,
                       const Total& found,
                       bool damaged);

/// Counts all rows into the table, which is empty.
void fill_totals(SQLite::Database& sql);

/// Adds the table to a database of schema version 3, in one transaction, and makes it version 4.
void migrate_version3(SQLite::Database& sql);

}  // namespace kappascope::store
