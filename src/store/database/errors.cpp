// SPDX-License-Identifier: Apache-2.0
// What SQLite could not do, in words: the cause and what helps.
#include <fmt/format.h>
#include <sqlite3.h>

#include "kappascope/core/error.h"
#include "store/database/database.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

struct Diagnosis {
  std::string cause, advice;
};

/// The whole code is in the one or the other, by how the exception was made.
bool reads(const SQLite::Exception& exception) {
  const auto is = [&](int code) {
    return exception.getExtendedErrorCode() == code || exception.getErrorCode() == code;
  };
  return is(SQLITE_IOERR_READ) || is(SQLITE_IOERR_SHORT_READ);
}

Diagnosis diagnose(const SQLite::Exception& exception) {
  switch (exception.getErrorCode() & 0xFF) {
    case SQLITE_FULL:
      return {"the disk is full", "free some space; what was written before is intact"};
    case SQLITE_IOERR:
      if (reads(exception))
        return {"the disk failed",
                "copy what can be read of the run to another one; the system's log names the disk"};
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
    case SQLITE_NOMEM:
      return {"not enough memory", "what was written before is intact"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return {"the file may not be opened, or its directory may not be written",
              "check the permissions, or copy the run to a directory of your own"};
    default:
      return {exception.what(), "check the file with: sqlite3 FILE 'PRAGMA integrity_check'"};
  }
}

}  // namespace

void Database::fail(const fs::path& file,
                    std::string_view action,
                    const SQLite::Exception& exception) {
  const auto [cause, advice] = diagnose(exception);
  throw Error(fmt::format("cannot {} {}: {}; {}", action, file.string(), cause, advice));
}

}  // namespace kappascope::store
