// SPDX-License-Identifier: Apache-2.0
// A run whose every snapshot has the same content.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/temporary_folder.h"
#include "kappascope/store/run.h"

namespace kappascope::store::test {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

using kappascope::TemporaryFolder;

/// The number of scalars in each snapshot() below; a run with another number has torn ones.
inline constexpr int kScalarsPerSnapshot = 20;

inline Snapshot snapshot(std::int64_t step) {
  Snapshot result;
  result.step = step;
  for (int i = 0; i < kScalarsPerSnapshot; ++i) {
    const double value = static_cast<double>(step) + i;
    result.scalars.push_back({.name = "kappa/sigma",
                              .layer = "blocks." + std::to_string(i),
                              .value = value,
                              .lower = value - 0.5,
                              .upper = value + 0.5,
                              .n = 1000.0,
                              .n_effective = 100.0,
                              .status = "resolved"});
  }
  result.arrays.push_back(
      {"hessian/density", "", {4, 2}, {0, 1, 2, 3, 4, 5, 6, static_cast<double>(step)}});
  result.events.push_back({"snapshot", "step " + std::to_string(step)});
  return result;
}

/// A run with everything that is hard to export.
inline RunReader awkward_run(const std::filesystem::path& dir) {
  auto writer = RunWriter::create(dir, {{"label", "a \"quoted\"\nname"}});
  for (const int step : {10, 20}) {
    writer.write(
        {.step = step,
         .scalars = {{.name = "loss/train", .layer = "", .value = 0.1 * step},
                     {.name = "features/products",
                      .value = 3.0 * step,
                      .attributes = {{"route", "factorisation"}}},
                     {.name = "kappa/sigma",
                      .layer = "a, \"b\"",
                      .value = step == 10 ? kInfinity : kNan,
                      .lower = 1.0 / 3,
                      .upper = kInfinity,
                      .n = 100.0,
                      .status = "not_resolvable"}},
         .arrays = {{"user/density", "", {2, 2}, {1, -kInfinity, kNan, 1.0 * step}},
                    {"user/ritz", "blocks.0", {step / 10}, std::vector<double>(step / 10, 5.0)}},
         .events = {{"odd", "not utf-8: \xff"}}});
  }
  writer.write_verdict({"P-L2", "holds", "", R"({"margin": 0.5})"});
  writer.write_verdict({"P-P1", "refuted", "d = 1", "no json"});
  writer.set_state("finished");
  return RunReader(dir);
}

/// Makes of the run in `dir` what schema version 2 would have written: rows without checksums.
inline void make_version2(const std::filesystem::path& dir) {
  SQLite::Database sql((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE);
  sql.exec("DROP TABLE totals");
  for (const auto* table : {"facts", "snapshots", "scalars", "arrays", "events", "verdicts"})
    sql.exec(std::string("ALTER TABLE ") + table + " DROP COLUMN crc");
  sql.exec("PRAGMA user_version = 2");
}

}  // namespace kappascope::store::test
