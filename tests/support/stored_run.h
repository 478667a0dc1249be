// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/files.h"

namespace kappascope::testing {

/// Writes into `dir` the run that a program of this schema version made, as tests/support/runs has
/// it: 12 steps of training, measured without limits on the cost, then `kappascope spectrum` on one
/// block. Version 1 is that of Kappascope 0.1.0, version 2 the same run brought up to date; version
/// 4 that of version 3, kept as what that changed.
inline void write_stored_run(const std::filesystem::path& dir, int version) {
  std::filesystem::create_directories(dir);
  SQLite::Database sql((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  for (const int part : version == 4 ? std::vector{3, 4} : std::vector{version})
    sql.exec(slurp(KAPPASCOPE_STORED_RUNS "/version" + std::to_string(part) + ".sql"));
}

/// Of the schema of the run in `dir`.
inline int version_of(const std::filesystem::path& dir) {
  SQLite::Database sql((dir / "run.sqlite").string());
  return sql.execAndGet("PRAGMA user_version").getInt();
}

}  // namespace kappascope::testing
