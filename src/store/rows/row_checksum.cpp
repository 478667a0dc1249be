// SPDX-License-Identifier: Apache-2.0
#include "store/rows/row_checksum.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <zlib.h>

#include <cstdint>
#include <string>

#include "kappascope/store/record.h"

namespace kappascope::store {
namespace {

static_assert(kLongestName == 1'000);  // as kTotals has it

class Crc {
 public:
  void add(const void* bytes, std::size_t count) {
    // Without bytes there may be no address either, which zlib takes for "begin anew".
    if (count > 0) sum_ = crc32_z(sum_, static_cast<const Bytef*>(bytes), count);
  }
  template <typename Number>
  void add_number(Number number) {
    add(&number, sizeof number);
  }
  [[nodiscard]] std::int64_t value() const { return static_cast<std::int64_t>(sum_); }

 private:
  unsigned long sum_ = 0;
};

/// False where there was no memory to look at it.
bool add(Crc& crc, sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  crc.add_number(static_cast<unsigned char>(type));
  switch (type) {
    case SQLITE_INTEGER:
      crc.add_number(static_cast<std::int64_t>(sqlite3_value_int64(value)));
      return true;
    case SQLITE_FLOAT:
      crc.add_number(sqlite3_value_double(value) + 0.0);  // -0 becomes 0
      return true;
    case SQLITE_NULL:
      return true;
    default: {
      const void* bytes = sqlite3_value_blob(value);  // before its size, as SQLite asks
      const auto size = static_cast<std::int64_t>(sqlite3_value_bytes(value));
      if (bytes == nullptr && size > 0) return false;
      crc.add_number(size);
      crc.add(bytes, static_cast<std::size_t>(size));
      return true;
    }
  }
}

thread_local std::int64_t last = 0;

void row_crc(sqlite3_context* context, int count, sqlite3_value** values) {
  Crc crc;
  for (int i = 0; i < count; ++i)
    if (!add(crc, values[i])) return sqlite3_result_error_nomem(context);
  last = crc.value();
  sqlite3_result_int64(context, last);
}

}  // namespace

void add_row_crc(SQLite::Database& sql) {
  sql.createFunction("row_crc", -1, true, nullptr, row_crc);
}

std::int64_t last_row_crc() {
  return last;
}

std::string damage_of(const CheckedTable& table, int schema_version) {
  if (schema_version < kFirstWithChecksums) return "NULL";
  const auto step =
      table.has_step ? fmt::format(" AND step BETWEEN -{0} AND {0}", kLargestStep) : std::string();
  return fmt::format("CASE WHEN crc IS row_crc({}) AND {}{} THEN NULL ELSE {} END",
                     table.columns,
                     table.types,
                     step,
                     table.label);
}

void migrate_version2(SQLite::Database& sql) {
  SQLite::Transaction transaction(sql, SQLite::TransactionBehavior::IMMEDIATE);
  for (const auto& table : kCountedTables) {
    sql.exec(fmt::format("ALTER TABLE {} ADD COLUMN crc INTEGER", table.name));
    sql.exec(fmt::format("UPDATE {} SET crc = row_crc({})", table.name, table.columns));
  }
  sql.exec("PRAGMA user_version = 3");
  transaction.commit();
}

}  // namespace kappascope::store
