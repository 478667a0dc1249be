// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/run_reader.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <fstream>

#include "kappascope/core/error.h"
#include "kappascope/store/run_writer.h"
#include "store/fixture.h"
#include "store/rows/row_checksum.h"
#include "support/catch.h"
#include "support/child.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
using kappascope::testing::Child;
using kappascope::testing::drop_root;
namespace fs = std::filesystem;

namespace {

fs::path database_of(const fs::path& dir) {
  return dir / "run.sqlite";
}

void change(const fs::path& dir, const std::string& sql) {
  SQLite::Database file(database_of(dir).string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  add_row_crc(file);
  file.exec(sql);
}

void make_run(const fs::path& dir, int snapshots = 3) {
  auto writer = RunWriter::create(dir, {});
  for (int step = 0; step < snapshots; ++step) writer.write(snapshot(step));
  writer.set_state("finished");
}

}  // namespace

TEST_CASE("series come by name and layer, their values by step, whatever the order of writing") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch.path(), {});
  for (const int step : {20, 0, 10}) {
    writer.write({.step = step,
                  .scalars = {{.name = "user/b", .layer = "", .value = 1.0 * step},
                              {.name = "user/a", .layer = "y", .value = 2.0 * step},
                              {.name = "user/a", .layer = "x", .value = 3.0 * step}},
                  .arrays = {{"user/v", "", {1}, {1.0 * step}}}});
  }
  const RunReader reader(scratch.path());
  CHECK(reader.series() ==
        std::vector<SeriesKey>{{"user/a", "x"}, {"user/a", "y"}, {"user/b", ""}});
  const auto values = reader.scalars({"user/a", "x"});
  REQUIRE(values.size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(values[static_cast<std::size_t>(i)].step == 10 * i);
    CHECK(values[static_cast<std::size_t>(i)].scalar.value == 30.0 * i);
    CHECK(reader.arrays({"user/v", ""})[static_cast<std::size_t>(i)].first == 10 * i);
  }
  CHECK(reader.last_step() == 20);
  const auto later = reader.scalars({"user/a", "x"}, 10);
  REQUIRE(later.size() == 2);
  CHECK(later.front().step == 10);
  CHECK(later.back().scalar.value == 60);
  CHECK(reader.scalars({"user/a", "x"}, 21).empty());
  REQUIRE(reader.arrays({"user/v", ""}, 11).size() == 1);
  CHECK(reader.arrays({"user/v", ""}, 11).front().first == 20);
}

TEST_CASE("the time of the last step is told, and none before there is one") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch.path(), {});
  CHECK(RunReader(scratch.path()).last_written().empty());
  for (const int step : {0, 10}) writer.write({.step = step});
  change(scratch.path(),
         "UPDATE snapshots SET time = '2026-01-31T12:00:00Z', "
         "crc = row_crc(10, '2026-01-31T12:00:00Z') WHERE step = 10");
  CHECK(RunReader(scratch.path()).last_written() == "2026-01-31T12:00:00Z");
}

TEST_CASE("a hundred thousand scalars are found by their key, not by a scan") {
  constexpr int kSteps = 5000;
  const TemporaryFolder scratch;
  {
    auto writer = RunWriter::create(scratch.path(), {});
    for (int step = 0; step < kSteps; ++step) writer.write(snapshot(step));
  }
  const RunReader reader(scratch.path());
  CHECK(reader.series().size() == kScalarsPerSnapshot);
  CHECK(reader.last_step() == kSteps - 1);
  const auto values = reader.scalars({"kappa/sigma", "blocks.7"});
  REQUIRE(values.size() == kSteps);
  CHECK(values.back().scalar.value == kSteps - 1 + 7);

  SQLite::Database sql(database_of(scratch.path()).string());
  SQLite::Statement plan(sql,
                         "EXPLAIN QUERY PLAN SELECT value FROM scalars "
                         "WHERE name = 'kappa/sigma' AND layer = 'blocks.7' ORDER BY step");
  REQUIRE(plan.executeStep());
  CHECK_THAT(plan.getColumn(3).getString(), Contains("SEARCH scalars USING PRIMARY KEY"));
  CHECK_FALSE(plan.executeStep());
}

TEST_CASE("runs are found two levels down and sorted") {
  const TemporaryFolder scratch;
  for (const char* name : {"b", "a", "study/arm", "too/deep/run"}) make_run(scratch / name, 0);
  fs::create_directories(scratch / "empty");
  CHECK(find_runs(scratch.path()) ==
        std::vector<fs::path>{scratch / "a", scratch / "b", scratch / "study/arm"});
  CHECK(find_runs(scratch / "a") == std::vector<fs::path>{scratch / "a"});
  CHECK(find_runs(scratch / "empty").empty());
  REQUIRE_THROWS_WITH(find_runs(scratch / "absent"), Contains((scratch / "absent").string()));
}

TEST_CASE("places are runs and folders of runs: each run once, without those that are put away") {
  const TemporaryFolder scratch;
  for (const char* name : {"runs/b", "runs/a", "runs/old", "alone"}) make_run(scratch / name, 0);
  RunWriter::append(scratch / "runs/old").set_fact(kArchived, "yes");
  fs::create_directories(scratch / "empty");
  using Paths = std::vector<fs::path>;
  CHECK(runs_at({scratch / "runs/b", scratch / "runs", scratch / "alone"}) ==
        Paths{scratch / "runs/b", scratch / "runs/a", scratch / "alone"});
  // Who names it gets it; what holds no run is for the reader to refuse.
  for (const char* name : {"runs/old", "empty", "absent"})
    CHECK(runs_at({scratch / name}) == Paths{scratch / name});
}

TEST_CASE("a newer schema is refused with both versions named") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  change(scratch.path(), "PRAGMA user_version = 7");
  const auto refusal = Contains("schema version is 7 and this program reads up to 4");
  REQUIRE_THROWS_WITH(RunReader(scratch.path()), refusal);
  REQUIRE_THROWS_WITH(RunWriter::append(scratch.path()), refusal);
}

TEST_CASE("a database of another program is refused") {
  const TemporaryFolder scratch;
  change(scratch.path(), "CREATE TABLE bookmarks(url)");
  REQUIRE_THROWS_WITH(
      RunReader(scratch.path()),
      Contains(database_of(scratch.path()).string()) && Contains("not one of Kappascope"));
  REQUIRE_THROWS_AS(RunWriter::append(scratch.path()), Error);
}

TEST_CASE("a file that is no database is named as such") {
  const TemporaryFolder scratch;
  std::ofstream(database_of(scratch.path())) << std::string(5000, 'x');
  REQUIRE_THROWS_WITH(
      RunReader(scratch.path()),
      Contains(database_of(scratch.path()).string()) && Contains("not a SQLite database"));
  std::ofstream(database_of(scratch.path()), std::ios::trunc).close();
  REQUIRE_THROWS_WITH(RunReader(scratch.path()), Contains("truncated to 0 bytes"));
}

TEST_CASE("a truncated file is refused, wherever it was cut") {
  const TemporaryFolder scratch;
  make_run(scratch.path(), 200);
  const auto size = fs::file_size(database_of(scratch.path()));
  REQUIRE(size > 40'000);
  for (const auto left : {size - 4096, size / 2, std::uintmax_t{4096}, std::uintmax_t{50}}) {
    fs::resize_file(database_of(scratch.path()), left);
    INFO("cut to " << left << " of " << size);
    REQUIRE_THROWS_WITH(RunReader(scratch.path()),
                        Contains(database_of(scratch.path()).string()) && Contains("truncated"));
    REQUIRE_THROWS_AS(RunWriter::append(scratch.path()), Error);
  }
}

TEST_CASE("an array whose bytes do not fit its shape is named, also without a checksum") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  make_version2(scratch.path());
  for (const char* damage : {"UPDATE arrays SET data = x'0000' WHERE step = 1",
                             "UPDATE arrays SET shape = '[4, 2'",
                             "UPDATE arrays SET shape = '[3]'",
                             "UPDATE arrays SET dtype = '<f4'"}) {
    change(scratch.path(), damage);
    REQUIRE_THROWS_WITH(RunReader(scratch.path()).arrays({"hessian/density", ""}),
                        Contains("hessian/density") && Contains("damaged"));
  }
}

TEST_CASE("a shape of no whole numbers or of a product beyond 63 bits is damaged") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  make_version2(scratch.path());  // without checksums
  for (const auto* shape : {"[8.5]", "[true, 8]", "8", "[4294967296, 4294967296, 8]", "[[8]]"}) {
    CAPTURE(shape);
    change(scratch.path(), std::string("UPDATE arrays SET shape = '") + shape + "'");
    CHECK_THROWS_WITH(RunReader(scratch.path()).arrays({"hessian/density", ""}),
                      Contains("is damaged"));
  }
  change(scratch.path(), "UPDATE arrays SET shape = '[4611686018427387904, 0, 4]', data = x''");
  CHECK(RunReader(scratch.path()).arrays({"hessian/density", ""}).front().second.data.empty());
}

TEST_CASE("a directory without a run is named") {
  const TemporaryFolder scratch;
  REQUIRE_THROWS_WITH(RunReader(scratch / "absent"),
                      Contains((scratch / "absent").string()) && Contains("no such directory"));
  REQUIRE_THROWS_WITH(RunReader(scratch.path()),
                      Contains(scratch.path().string()) && Contains("holds no run.sqlite"));
  REQUIRE_THROWS_WITH(RunWriter::append(scratch.path()), Contains("holds no run.sqlite"));
  REQUIRE_THROWS_WITH(RunWriter::resume(scratch / "absent", 1), Contains("no such directory"));
  CHECK(fs::is_empty(scratch.path()));
}

TEST_CASE("a directory that may not be written refuses the writer and serves the reader") {
  const TemporaryFolder scratch;
  const fs::path run = scratch / "run 100% #1?";
  make_run(run);
  fs::create_directory(scratch / "closed");
  fs::permissions(database_of(run), fs::perms(0444));
  fs::permissions(run, fs::perms(0555));
  fs::permissions(scratch / "closed", fs::perms(0555));
  fs::permissions(scratch.path(), fs::perms(0755));
  const auto unprivileged = [](auto body) {
    return Child([&] {
             drop_root();
             return body();
           })
        .report();
  };
  CHECK(unprivileged([&] { return std::to_string(RunReader(run).last_step()); }) == "2");
  CHECK_THAT(unprivileged([&] { return RunWriter::append(run).dir().string(); }),
             Contains(run.string()) && Contains("Permission denied"));
  CHECK_THAT(unprivileged([&] { return RunWriter::create(scratch / "closed/run", {}).dir(); }),
             Contains((scratch / "closed/run").string()) && Contains("Permission denied"));
  CHECK_THAT(unprivileged([&] { return RunWriter::create(scratch / "closed", {}).dir(); }),
             Contains((scratch / "closed").string()) && Contains("Permission denied"));
  fs::permissions(run, fs::perms(0755));
}

TEST_CASE("where the file system has no shared memory the run keeps a rollback journal") {
  const TemporaryFolder scratch;
  const auto report =
      Child([&] {
        // SQLite's own stand-in for file systems without locks or shared memory.
        sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);
        auto writer = RunWriter::create(scratch.path(), {});
        writer.write(snapshot(1));
        const RunReader reader(scratch.path());
        return reader.fact("journal_mode") + " " + std::to_string(reader.last_step());
      }).report();
  CHECK(report == "delete 1");
  const RunReader reader(scratch.path());
  CHECK(reader.last_step() == 1);
  CHECK(RunWriter::append(scratch.path()).dir() == scratch.path());
  CHECK(reader.fact("journal_mode") == "wal");
}
