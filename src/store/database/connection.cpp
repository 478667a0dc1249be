// SPDX-License-Identifier: Apache-2.0
#include "store/database/connection.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "core/own_files.h"
#include "core/require.h"

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

/// Whether the rollback journal of `file` names a super-journal: that of a transaction over several
/// databases. SQLite would roll back with what it names, and delete that, wherever it is; we write
/// none. The name's mark is the last thing in a journal (SQLite's file format, "The Rollback
/// Journal").
bool names_another(const fs::path& file) {
  static constexpr std::array<unsigned char, 8> kMark = {
      0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  std::ifstream journal(file.string() + "-journal", std::ios::binary);
  std::array<char, kMark.size()> end{};
  journal.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  journal.read(end.data(), end.size());
  return journal.good() && std::memcmp(end.data(), kMark.data(), kMark.size()) == 0;
}

/// Refuses what would lead SQLite out of the run's folder. What it keeps beside the database it
/// writes to, also where somebody only reads; to the database itself then only what stands in a
/// journal or a log.
void require_own_files(const fs::path& file, bool to_write) {
  const auto require_one_name = [&](const fs::path& written) {
    require(!has_second_name(written),
            "cannot open {}: {} has a second name, which may be anywhere, and would be written to; "
            "copy the run to another folder",
            file.string(),
            written.filename().string());
  };
  own_file(file.parent_path(), file.filename());
  for (const auto* suffix : {"-journal", "-wal", "-shm"}) {
    const auto beside = own_file(file.parent_path(), file.filename().string() + suffix);
    require_one_name(beside);
    std::error_code none;
    const auto size = fs::file_size(beside, none);
    const bool is_index = suffix == std::string_view("-shm");
    to_write |= !is_index && !none && size > 0;
  }
  if (to_write) require_one_name(file);
  require(!names_another(file),
          "cannot open {0}: {0}-journal names a file outside the run, which rolling it back would "
          "delete; remove the journal, and `kappascope check` says what is whole",
          file.string());
}

/// The file may be a stranger's: nothing that stands in its schema is run.
void run_nothing_of(SQLite::Database& sql) {
  sqlite3_db_config(sql.getHandle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(sql.getHandle(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(sql.getHandle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(sql.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

}  // namespace

SQLite::Database connect(const fs::path& file, bool to_write) {
  require_own_files(file, to_write);
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
  require_own_files(file, false);
  SQLite::Database alone(immutable_uri(file), SQLite::OPEN_READONLY | SQLite::OPEN_URI);
  run_nothing_of(alone);
  return alone;
}

void leave_log(const fs::path& file) {
  auto alone = connect(file, true);
  // Said before the first access: SQLite then keeps the index of the log in its own memory.
  alone.exec("PRAGMA locking_mode = EXCLUSIVE");
  alone.exec("PRAGMA journal_mode = DELETE");
}

}  // namespace kappascope::store
