// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kappascope::testing {

/// Writes into `dir` a run that Kappascope 0.1.0 made, of schema version 1: 12 steps of training,
/// measured at 1, 6 and 11 without limits on the cost, then `kappascope spectrum` on one block.
inline void write_version1_run(const std::filesystem::path& dir) {
  std::ifstream in(KAPPASCOPE_VERSION1);
  const std::string dump(std::istreambuf_iterator<char>(in), {});
  std::filesystem::create_directories(dir);
  SQLite::Database sql((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  sql.exec(dump);
}

}  // namespace kappascope::testing
