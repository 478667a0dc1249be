// SPDX-License-Identifier: Apache-2.0
#include "store/database/connection.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <string>

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

/// A file name as a URI in which SQLite takes parameters.
std::string immutable_uri(const fs::path& file) {
  std::string uri = "file:";
  for (const char c : fs::absolute(file).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

/// The file may be a stranger's: nothing that stands in its schema is run.
void run_nothing_of(SQLite::Database& sql) {
  sqlite3_db_config(sql.getHandle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(sql.getHandle(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(sql.getHandle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(sql.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

}  // namespace

SQLite::Database connect(const fs::path& file) {
  SQLite::Database sql(file.string(), SQLite::OPEN_READWRITE, kBusyTimeoutMs);
  run_nothing_of(sql);
  return sql;
}

bool cannot_share(const SQLite::Exception& exception) {
  switch (exception.getExtendedErrorCode()) {
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMLOCK:
    case SQLITE_IOERR_SHMMAP:
      return true;
    default:
      break;
  }
  const int code = exception.getErrorCode() & 0xFF;
  return code == SQLITE_CANTOPEN || code == SQLITE_READONLY;
}

SQLite::Database connect_to_read_alone(const fs::path& file, const SQLite::Exception& exception) {
  // What was tried before may have made an empty one.
  std::error_code none;
  const auto log = fs::file_size(file.string() + "-wal", none);
  if (!none && log > 0) throw exception;
  SQLite::Database alone(immutable_uri(file), SQLite::OPEN_READONLY | SQLite::OPEN_URI);
  run_nothing_of(alone);
  return alone;
}

void leave_log(const fs::path& file) {
  auto alone = connect(file);
  // Said before the first access: SQLite then keeps the index of the log in its own memory.
  alone.exec("PRAGMA locking_mode = EXCLUSIVE");
  alone.exec("PRAGMA journal_mode = DELETE");
}

}  // namespace kappascope::store
