// SPDX-License-Identifier: Apache-2.0
#include "store/database/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <string>

#include "core/atomic_file.h"
#include "core/require.h"
#include "store/database/connection.h"
#include "store/rows/row_checksum.h"
#include "store/rows/tables.h"
#include "store/rows/totals.h"
#include "store/schema/version1.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

constexpr std::uintmax_t kSmallestDatabase = 512;  // one page of the smallest size

/// What a writer leaves that is killed while it makes a run; nobody else makes one at this moment.
void remove_leftovers(const fs::path& dir) {
  std::error_code ignored;
  const auto made = Database::unfinished(dir);
  fs::remove(made, ignored);
  fs::remove(made.string() + "-journal", ignored);
}

/// A database with these facts, flushed to the disk.
void write_new(const fs::path& file, const Facts& facts) {
  SQLite::Database sql(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  add_row_crc(sql);
  SQLite::Transaction transaction(sql);
  sql.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  sql.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
  make_tables(sql);
  for (const auto& [key, value] : facts) put_fact(sql, key, value);
  put_fact(sql, "state", "running");
  transaction.commit();
}

/// Only the first read touches the file; a failure to open it shows here.
int read_pragma(SQLite::Database& sql, const char* pragma) {
  return sql.execAndGet(std::string("PRAGMA ") + pragma).getInt();
}

}  // namespace

fs::path database_file(const fs::path& dir) {
  return dir / kDatabaseName;
}

void put_fact(SQLite::Database& sql, const std::string& key, const std::string& value) {
  TotalChanges totals;
  const Counted facts{kFacts.name, "", ""};
  SQLite::Statement old(sql, "SELECT crc FROM facts WHERE key = ?");
  old.bind(1, key);
  if (old.executeStep()) totals.remove(facts, {1, old.getColumn(0).getInt64()});
  SQLite::Statement put(sql,
                        "INSERT INTO facts(key, value, crc) VALUES(?1, ?2, row_crc(?1, ?2)) "
                        "ON CONFLICT(key) DO UPDATE SET value = excluded.value, "
                        "crc = excluded.crc");
  put.bind(1, key);
  put.bind(2, value);
  put.exec();
  totals.add(facts, last_row_crc());
  totals.write(sql);
}

void Database::require_there(const fs::path& dir) {
  std::error_code ignored;
  require(fs::is_directory(dir, ignored),
          "cannot open the run {}: there is no such directory; `kappascope runs` lists the runs of "
          "a directory",
          dir.string());
  require(fs::is_regular_file(database_file(dir), ignored),
          "cannot open the run {}: it holds no {}; name the directory of a run, `kappascope runs` "
          "lists them",
          dir.string(),
          kDatabaseName);
}

SQLite::Database Database::open(const fs::path& file, Access access) {
  require_there(file.parent_path());
  // To SQLite a file without a whole header is an empty database; none of ours was ever that short.
  std::error_code unknown;
  const auto size = fs::file_size(file, unknown);
  require(unknown || size >= kSmallestDatabase,
          "cannot open {}: it is truncated to {} bytes; restore it from a copy",
          file.string(),
          size);
  try {
    // A reader opens for writing too, because the first one after a crash has to roll back or
    // replay the journal; query_only keeps it from anything else. Where the file is write-protected
    // SQLite itself falls back to reading.
    try {
      auto sql = connect(file, access != Access::kRead);
      if (access == Access::kRead) sql.exec("PRAGMA query_only = ON");
      read_pragma(sql, "schema_version");
      return sql;
    } catch (const SQLite::Exception& exception) {
      if (!cannot_share(exception)) throw;
      if (access == Access::kRead) return connect_to_read_alone(file, exception);
    }
    leave_log(file);
    return connect(file, true);
  } catch (const SQLite::Exception& exception) {
    fail(file, "open", exception);
  }
}

Database::Database(const fs::path& dir, Access access)
    : file_(database_file(dir)), id_(id_of(file_)), sql_(open(file_, access)) {
  run("open", [](SQLite::Database& sql) { add_row_crc(sql); });
  run("open", [&](SQLite::Database&) { check_schema(); });
  if (access == Access::kRead) return;
  remove_leftovers(dir);
  run("bring up to date", [](SQLite::Database& sql) {
    if (version(sql) == 1) migrate_version1(sql);
    if (version(sql) == 2) migrate_version2(sql);
    if (version(sql) == 3) migrate_version3(sql);
  });
  run("open", [&](SQLite::Database&) { choose_journal(); });
}

Database::FileId Database::id_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

fs::path Database::rescue_place(const fs::path& dir, int i) {
  auto beside = database_file(dir).parent_path().lexically_normal();  // without a slash at its end
  beside += i == 1 ? "-rescued" : fmt::format("-rescued-{}", i);
  return beside;
}

fs::path Database::rescue() {
  try {
    for (int i = 1;; ++i) {
      auto beside = rescue_place(file_.parent_path(), i);
      if (!fs::create_directory(beside)) continue;
      SQLite::Statement copy(sql_, "VACUUM INTO ?");
      copy.bind(1, database_file(beside).string());
      copy.exec();
      return beside;
    }
  } catch (const std::exception&) {
    return {};
  }
}

void Database::require_reachable() {
  if (id_of(file_) == id_) return;
  if (!rescued_) rescued_ = rescue();
  const auto& copy = *rescued_;
  throw Error(fmt::format("{} was removed or replaced by another program while it was written; {}",
                          file_.string(),
                          copy.empty() ? "what it held is lost"
                                       : "all that it held is in the new run " + copy.string()));
}

int Database::version(SQLite::Database& sql) {
  return read_pragma(sql, "user_version");
}

void Database::check_schema() {
  const int application = read_pragma(sql_, "application_id");
  const int found = version(sql_);
  require(application == kApplicationId,
          "cannot open {}: it is a SQLite database, but not one of Kappascope; name the directory "
          "of a run",
          file_.string());
  require(found <= kSchemaVersion,
          "cannot open {}: its schema version is {} and this program reads up to {}; use the newer "
          "Kappascope that wrote it",
          file_.string(),
          found,
          kSchemaVersion);
  require(found >= 1,
          "cannot open {}: its schema version {} never existed, so it is damaged; restore it from "
          "a copy",
          file_.string(),
          found);
  require(sql_.execAndGet("PRAGMA encoding").getString() == "UTF-8",
          "cannot open {}: its texts are not UTF-8, so no Kappascope wrote it; restore it from a "
          "copy",
          file_.string());
  const auto strange = strange_table(sql_, found);
  require(strange.empty(),
          "cannot open {}: its table {} is not that of schema version {}, so it is damaged or was "
          "changed; restore it from a copy",
          file_.string(),
          strange,
          found);
}

void Database::choose_journal() {
  std::string mode;
  try {
    mode = sql_.execAndGet("PRAGMA journal_mode = WAL").getString();
    read_pragma(sql_, "schema_version");  // asks for the memory that its readers share
  } catch (const SQLite::Exception& exception) {
    if (!cannot_share(exception)) throw;
    sql_ = SQLite::Database(":memory:");  // nobody may have the file open
    leave_log(file_);
    sql_ = connect(file_, true);
    add_row_crc(sql_);
    mode = sql_.execAndGet("PRAGMA journal_mode").getString();
  }
  // A log is whole without a flush a commit, and make_durable() makes it last; a rollback journal
  // needs its flushes, also that of its end, without which the last commit would be rolled back.
  sql_.exec(mode == "wal" ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = EXTRA");
  // A snapshot changes one page a series, so the default of 1000 pages would flush every few
  // snapshots; 16 MB of log took a third off the time of writing 100 series.
  sql_.exec("PRAGMA wal_autocheckpoint = 4000");
  SQLite::Transaction transaction(sql_, SQLite::TransactionBehavior::IMMEDIATE);
  put_fact(sql_, "journal_mode", mode);
  transaction.commit();
}

void Database::make_durable() {
  run("write", [](SQLite::Database& sql) {
    sqlite3_file* log = nullptr;
    sqlite3_file_control(sql.getHandle(), nullptr, SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log == nullptr || log->pMethods == nullptr) return;  // a rollback journal that has ended
    // Not a checkpoint: readers can hold that up. The first flush also flushes the directory.
    const int code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    if (code != SQLITE_OK) throw SQLite::Exception("the disk refused a flush", code);
  });
}

fs::path Database::unfinished(const fs::path& dir) {
  return database_file(dir).string() + ".new";
}

void Database::create(const fs::path& dir, const Facts& facts) {
  const fs::path file = database_file(dir);
  remove_leftovers(dir);
  try {
    write_new(unfinished(dir), facts);
    rename_durably(unfinished(dir), file);
  } catch (const SQLite::Exception& exception) {
    remove_leftovers(dir);
    fail(file, "create", exception);
  } catch (...) {
    remove_leftovers(dir);
    throw;
  }
}

}  // namespace kappascope::store
