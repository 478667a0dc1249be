// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kappascope::testing {

/// Writes into `dir` the run that a program of this schema version made, as tests/support/runs has
/// it: 12 steps of training, measured without limits on the cost, then `kappascope spectrum` on one
/// block. Version 1 is that of Kappascope 0.1.0, version 2 the same run brought up to date; version
/// 4 that of version 3.
inline void write_stored_run(const std::filesystem::path& dir, int version) {
  std::ifstream in(KAPPASCOPE_STORED_RUNS "/version" + std::to_string(version) + ".sql");
  const std::string dump(std::istreambuf_iterator<char>(in), {});
  std::filesystem::create_directories(dir);
  SQLite::Database sql((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  sql.exec(dump);
}

}  // namespace kappascope::testing
