// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/listing.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <random>

#include "kappascope/reports/report.h"
#include "kappascope/store/run.h"
#include "reports/sample_run.h"
#include "store/rows/row_checksum.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

namespace fs = std::filesystem;

/// The moment so many seconds after noon.
std::string at(int seconds) {
  const int all = 12 * 3600 + seconds;
  return fmt::format("2026-01-31T{:02}:{:02}:{:02}Z", all / 3600, all / 60 % 60, all % 60);
}

void set_time(const fs::path& run,
              const store::CheckedTable& table,
              const std::string& where,
              int seconds) {
  SQLite::Database sql((run / "run.sqlite").string(), SQLite::OPEN_READWRITE);
  store::add_row_crc(sql);
  SQLite::Statement set(sql, fmt::format("UPDATE {} SET time = ? WHERE {}", table.name, where));
  set.bind(1, at(seconds));
  REQUIRE(set.exec() > 0);
  sql.exec(fmt::format("UPDATE {} SET crc = row_crc({})", table.name, table.columns));
}

store::Snapshot loss_of(std::int64_t step) {
  return {.step = step, .scalars = {sample::plain("loss/train", "", 1)}};
}

/// A training of drawn stretches with pauses between them, touched by other commands at its end and
/// in between; the seconds that it took.
int write_touched(const fs::path& dir, std::mt19937& random) {
  const auto drawn = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int now = 0, trained = 0;
  std::int64_t step = 0;
  const int stretches = drawn(1, 4);
  for (int stretch = 0; stretch < stretches; ++stretch) {
    if (stretch > 0) now += drawn(10, 900);
    auto run = stretch == 0 ? store::RunWriter::create(dir, {{"created", at(0)}})
                            : store::RunWriter::resume(dir, step - 1);
    if (stretch > 0) set_time(dir, store::kEvents, "id = (SELECT max(id) FROM events)", now);
    for (int i = drawn(1, 5); i > 0; --i, ++step) {
      const int took = drawn(0, 30);
      now += took;
      trained += took;
      run.write(loss_of(step));
      set_time(dir, store::kSnapshots, fmt::format("step = {}", step), now);
    }
    run.set_state("finished");
  }
  // What comes later stands at steps that are there; a spectrum of an earlier version has the time.
  for (int touch = drawn(0, 3); touch > 0; --touch) {
    auto run = store::RunWriter::append(dir);
    const auto touched = std::uniform_int_distribution<std::int64_t>(0, step - 1)(random);
    store::Snapshot later{.step = touched,
                          .scalars = {sample::plain("user/later", "", 1)},
                          .events = {{"spectrum", "hessian"}}};
    run.write(later);
  }
  return trained;
}

}  // namespace

TEST_CASE("a run took the seconds of its training, whoever touched it later", "[listing]") {
  std::mt19937 random(7);
  for (int draw = 0; draw < 40; ++draw) {
    CAPTURE(draw);
    const TemporaryFolder folder;
    const int trained = write_touched(folder / "run", random);
    CHECK(summary_of(folder / "run").seconds == trained);
  }
}

TEST_CASE("of a store in which a spectrum replaced the time of its step, the step before counts",
          "[listing]") {
  const TemporaryFolder folder;
  auto run = store::RunWriter::create(folder / "run", {{"created", at(0)}});
  for (std::int64_t step = 0; step < 3; ++step) run.write(loss_of(step));
  run.write({.step = 2, .events = {{"spectrum", "hessian"}}});
  set_time(folder / "run", store::kSnapshots, "step = 1", 4);
  for (const auto& table : {store::kSnapshots, store::kEvents})
    set_time(folder / "run", table, "step = 2", 1600);
  CHECK(summary_of(folder / "run").seconds == 4);
}

}  // namespace kappascope::reports
