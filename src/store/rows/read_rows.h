// SPDX-License-Identifier: Apache-2.0
// Rows as they were written, and what is wrong with the others.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "store/rows/row_checksum.h"
#include "store/rows/totals.h"

namespace kappascope::store {

/// Texts that name what was left out.
using Damage = std::set<std::string>;

/// Goes over the rows of one table, or of one series in it. A row is left out and named in `damage`
/// where it does not fit its checksum, belongs to another series than the one asked for (SQLite
/// finds a series by its place in the file), or repeats a step. Use:
///
///     RowQuery rows(sql, kEvents, "step, message", " ORDER BY id", damage);
///     while (rows.next()) use(rows[0], rows[1]);
///     rows.require_all();  // where nothing but ORDER BY was asked for
class RowQuery {
 public:
  /// `rest`: WHERE and ORDER BY.
  RowQuery(SQLite::Database& sql,
           const CheckedTable& table,
           const std::string& columns,
           const std::string& rest,
           Damage& damage);
  /// The rows of a series of scalars or arrays, from a step on, by step; `columns` begin with step.
  RowQuery(SQLite::Database& sql,
           const CheckedTable& table,
           const std::string& columns,
           const std::string& name,
           const std::string& layer,
           std::int64_t from,
           Damage& damage);

  /// Goes to the next row that is as it was written; false behind the last.
  bool next();
  [[nodiscard]] SQLite::Column operator[](int column) const { return query_.getColumn(column); }

  /// Names what is missing. All rows of the table, or of the series, must have been asked for.
  void require_all();

 private:
  [[nodiscard]] bool is_of_series();

  SQLite::Database& sql_;
  Counted counted_;
  Damage& damage_;
  SQLite::Statement query_;
  int extra_;  ///< the first column behind those asked for
  Total found_;
  bool damaged_ = false;
  std::optional<std::int64_t> last_;  ///< step
};

}  // namespace kappascope::store
