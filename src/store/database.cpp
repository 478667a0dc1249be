// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <string>

#include "kappascope/core/require.h"
#include "store/schema/version1.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

constexpr int kBusyTimeoutMs = 10'000;
constexpr std::uintmax_t kSmallestDatabase = 512;  // one page of the smallest size

constexpr const char* kSchema = R"sql(
  CREATE TABLE facts(key TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE snapshots(step INTEGER PRIMARY KEY, time TEXT NOT NULL);
  CREATE TABLE scalars(
    name TEXT NOT NULL, layer TEXT NOT NULL, step INTEGER NOT NULL,
    value REAL, lower REAL, upper REAL, n REAL, n_effective REAL, status TEXT NOT NULL,
    attributes TEXT, PRIMARY KEY(name, layer, step)) WITHOUT ROWID;
  CREATE TABLE arrays(
    name TEXT NOT NULL, layer TEXT NOT NULL, step INTEGER NOT NULL,
    dtype TEXT NOT NULL, shape TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY(name, layer, step));
  CREATE TABLE events(
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, time TEXT NOT NULL,
    kind TEXT NOT NULL, message TEXT NOT NULL);
  CREATE TABLE verdicts(
    claim TEXT PRIMARY KEY, outcome TEXT NOT NULL, condition TEXT NOT NULL,
    json TEXT NOT NULL, time TEXT NOT NULL);
)sql";

struct Diagnosis {
  std::string cause, advice;
};

Diagnosis diagnose(const SQLite::Exception& exception) {
  switch (exception.getErrorCode()) {
    case SQLITE_FULL:
      return {"the disk is full", "free some space; what was written before is intact"};
    case SQLITE_IOERR:
      return {exception.getExtendedErrorCode() == SQLITE_IOERR_WRITE
                  ? "the system refused to write more"
                  : "the disk failed",
              "check the space, the quota and the limit of file sizes (ulimit -f); what was "
              "written before is intact"};
    case SQLITE_NOTADB:
      return {"it is not a SQLite database", "name the directory of a run"};
    case SQLITE_CORRUPT:
      return {"it is truncated or damaged",
              "restore it from a copy, or save what is left with: sqlite3 FILE .recover"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {"another program holds it locked", "close that program (a sqlite3 shell?) and retry"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return {"the file may not be opened, or its directory may not be written",
              "check the permissions, or copy the run to a directory of your own"};
    default:
      return {exception.what(), "check the file with: sqlite3 FILE 'PRAGMA integrity_check'"};
  }
}

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

/// Only the first read touches the file; a failure to open it shows here.
int read_pragma(SQLite::Database& sql, const char* pragma) {
  return sql.execAndGet(std::string("PRAGMA ") + pragma).getInt();
}

}  // namespace

fs::path database_file(const fs::path& dir) {
  return dir / kDatabaseName;
}

void put_fact(SQLite::Database& sql, const std::string& key, const std::string& value) {
  SQLite::Statement put(sql,
                        "INSERT INTO facts(key, value) VALUES(?, ?) "
                        "ON CONFLICT(key) DO UPDATE SET value = excluded.value");
  put.bind(1, key);
  put.bind(2, value);
  put.exec();
}

void Database::fail(const fs::path& file,
                    std::string_view action,
                    const SQLite::Exception& exception) {
  const auto [cause, advice] = diagnose(exception);
  throw Error(fmt::format("cannot {} {}: {}; {}", action, file.string(), cause, advice));
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
    SQLite::Database sql(file.string(), SQLite::OPEN_READWRITE, kBusyTimeoutMs);
    if (access == Access::kWrite) return sql;
    sql.exec("PRAGMA query_only = ON");
    try {
      read_pragma(sql, "schema_version");
      return sql;
    } catch (const SQLite::Exception& exception) {
      // In a directory that may not be written there is no place for the memory that readers of a
      // write-ahead log share. Without a log nobody is writing, and the file alone is the run.
      std::error_code ignored;
      const bool has_log = fs::exists(file.string() + "-wal", ignored);
      const int code = exception.getErrorCode();
      if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || has_log) throw;
      return {immutable_uri(file), SQLite::OPEN_READONLY | SQLite::OPEN_URI};
    }
  } catch (const SQLite::Exception& exception) {
    fail(file, "open", exception);
  }
}

Database::Database(const fs::path& dir, Access access)
    : file_(database_file(dir)), sql_(open(file_, access)) {
  run("open", [&](SQLite::Database&) { check_schema(); });
  if (access == Access::kRead) return;
  run("bring up to date", [](SQLite::Database& sql) {
    if (version(sql) == 1) migrate_version1(sql);
  });
  run("open", [&](SQLite::Database&) { choose_journal(); });
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
}

void Database::choose_journal() {
  std::string mode;
  try {
    mode = sql_.execAndGet("PRAGMA journal_mode = WAL").getString();
  } catch (const SQLite::Exception& exception) {
    // Some file systems refuse the log only when its shared memory is asked for.
    if (exception.getErrorCode() != SQLITE_IOERR && exception.getErrorCode() != SQLITE_CANTOPEN) {
      throw;
    }
    mode = sql_.execAndGet("PRAGMA journal_mode = DELETE").getString();
  }
  // A log is safe with one flush a checkpoint; a rollback journal needs its flushes.
  sql_.exec(mode == "wal" ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
  // A snapshot changes one page a series, so the default of 1000 pages would flush every few
  // snapshots; 16 MB of log took a third off the time of writing 100 series.
  sql_.exec("PRAGMA wal_autocheckpoint = 4000");
  put_fact(sql_, "journal_mode", mode);
}

void Database::create(const fs::path& dir, const Facts& facts) {
  const fs::path file = database_file(dir);
  const fs::path unfinished = file.string() + ".new";
  std::error_code ignored;
  fs::remove(unfinished, ignored);
  fs::remove(unfinished.string() + "-journal", ignored);
  try {
    SQLite::Database sql(unfinished.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    SQLite::Transaction transaction(sql);
    sql.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
    sql.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
    sql.exec(kSchema);
    for (const auto& [key, value] : facts) put_fact(sql, key, value);
    put_fact(sql, "state", "running");
    transaction.commit();
  } catch (const SQLite::Exception& exception) {
    fs::remove(unfinished, ignored);
    fail(file, "create", exception);
  }
  std::error_code error;
  fs::rename(unfinished, file, error);
  require(!error, "cannot create {}: {}", file.string(), error.message());
}

}  // namespace kappascope::store
