// SPDX-License-Identifier: Apache-2.0
// What is missing, or stands in another's place, is told by every reader that meets it.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "kappascope/core/error.h"
#include "store/check.h"
#include "store/fixture.h"
#include "store/rows/row_checksum.h"
#include "store/rows/totals.h"
#include "support/catch.h"
#include "support/files.h"
#include "support/mutations.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
using kappascope::testing::slurp;
namespace fs = std::filesystem;

namespace {

/// 40 steps of 20 series: enough rows for pages of many names.
void make_run(const fs::path& dir) {
  auto writer = RunWriter::create(dir, {{"label", "a"}});
  for (int step = 0; step < 40; ++step) writer.write(snapshot(step));
  writer.write({.step = 40, .scalars = {{.name = "user/0", .layer = "", .value = 1}}});
  writer.write_verdict({"P-X", "refuted", "if", "{}"});
  writer.set_state("finished");
}

void change(const fs::path& dir, const std::string& sql) {
  SQLite::Database((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE).exec(sql);
}

using Row = std::tuple<std::string, std::string, std::int64_t, double>;

/// Every number that a reader returns. Throws Error as it does.
std::vector<Row> rows_of(const RunReader& run) {
  std::vector<Row> rows;
  for (const auto& key : run.series()) {
    for (const auto& [step, scalar] : run.scalars(key))
      rows.emplace_back(scalar.name, scalar.layer, step, scalar.value);
  }
  for (const auto& key : run.array_series()) {
    for (const auto& [step, array] : run.arrays(key)) {
      double sum = 0;
      for (const double number : array.data) sum += number;
      rows.emplace_back(array.name, array.layer, step, sum);
    }
  }
  for (const auto& [step, time, event] : run.events())
    rows.emplace_back(event.kind, event.message, step, 0);
  for (const auto& [key, value] : run.facts()) rows.emplace_back(key, value, -1, 0);
  std::ranges::sort(rows);
  return rows;
}

/// That a reader of the run in `dir` returns rows as they were written, all of them, or says that
/// it does not. Returns whether there was anything to say.
bool is_told(const fs::path& dir, const std::vector<Row>& written) {
  try {
    const RunReader run(dir);
    const auto rows = rows_of(run);
    CHECK(std::ranges::includes(written, rows));
    const bool all = rows == written;
    if (!all) {
      CHECK_FALSE(run.damaged().empty());
    }
    return !all || !run.damaged().empty();
  } catch (const Error&) {
    return true;
  }
}

/// Tries `damage` on copies of a run.
int count_told(const std::function<void(std::string& bytes)>& damage, int trials) {
  const TemporaryFolder scratch;
  const auto dir = scratch / "run";
  make_run(dir);
  change(dir, "PRAGMA journal_mode = DELETE");
  const auto whole = slurp(dir / "run.sqlite");
  const auto written = rows_of(RunReader(dir));
  REQUIRE(written.size() > 800);
  int told = 0;
  for (int trial = 0; trial < trials; ++trial) {
    auto bytes = whole;
    damage(bytes);
    for (const auto* left : {"run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal"})
      fs::remove(dir / left);
    testing::write_bytes(dir / "run.sqlite", bytes);
    CAPTURE(trial);
    told += is_told(dir, written) ? 1 : 0;
  }
  return told;
}

}  // namespace

TEST_CASE("rows of swapped pages are returned under no other name, and the missing ones are told") {
  std::mt19937_64 random(3);
  constexpr std::size_t kPage = 4096;
  const int trials = testing::mutations(60);
  const int told = count_told(
      [&](std::string& bytes) {
        const auto pages = bytes.size() / kPage;
        REQUIRE(pages > 20);
        const auto a = 1 + random() % (pages - 1), b = 1 + random() % (pages - 1);
        const auto first = bytes.substr(a * kPage, kPage);
        bytes.replace(a * kPage, kPage, bytes, b * kPage, kPage);
        bytes.replace(b * kPage, kPage, first);
      },
      trials);
  CHECK(told > trials / 2);
}

TEST_CASE("a changed byte invents no row and loses none unseen") {
  std::mt19937_64 random(4);
  const int trials = testing::mutations(200);
  const int told = count_told(
      [&](std::string& bytes) {
        const auto at = 4096 + random() % (bytes.size() - 4096);
        bytes[at] = static_cast<char>(random() % 4 == 0 ? 0 : random() % 256);
      },
      trials);
  CHECK(told > trials / 4);
}

TEST_CASE("a row that is gone is told by check and by whoever reads its series") {
  const TemporaryFolder scratch;
  struct Case {
    std::string sql, told;
  };
  for (const auto& [sql, told] :
       {Case{"DELETE FROM scalars WHERE layer = 'blocks.3' AND step = 7",
             "kappa/sigma of blocks.3: 1 of 40 rows missing"},
        Case{"DELETE FROM scalars WHERE layer = 'blocks.3' AND step > 30",
             "kappa/sigma of blocks.3: 9 of 40 rows missing"},
        Case{"DELETE FROM scalars WHERE layer = 'blocks.3'",
             "kappa/sigma of blocks.3: 40 of 40 rows missing"},
        Case{"DELETE FROM arrays WHERE step = 39", "hessian/density: 1 of 40 rows missing"},
        Case{"DELETE FROM events WHERE step = 39", "the events: 1 of 40 rows missing"},
        Case{"DELETE FROM facts WHERE key = 'label'", "the facts: 1 of 3 rows missing"},
        Case{"DELETE FROM verdicts", "the verdicts: 1 of 1 row missing"},
        Case{"INSERT INTO facts(key, value) VALUES(NULL, 'x')", "the fact without a name"},
        Case{"INSERT INTO verdicts VALUES(NULL, '', '', '', '', NULL)",
             "the verdict on a claim without a name"},
        Case{"DELETE FROM totals WHERE layer = 'blocks.3'",
             "kappa/sigma of blocks.3: how many rows there were is not known"},
        Case{"UPDATE totals SET rows = 3 WHERE layer = 'blocks.3'",
             "kappa/sigma of blocks.3: how many rows there were is not known"}}) {
    CAPTURE(sql);
    const auto dir = scratch / "run";
    fs::remove_all(dir);
    make_run(dir);
    change(dir, sql);
    CHECK_THAT(check_store(dir).damage, Catch::Matchers::VectorContains(told));
    const RunReader run(dir);
    rows_of(run);
    CHECK(run.verdicts().size() <= 2);
    CHECK_THAT(run.damaged(), Catch::Matchers::VectorContains(told));
    // What goes on with the run does not hide it.
    RunWriter::append(dir).write(snapshot(41));
    CHECK_FALSE(check_store(dir).damage.empty());
  }
  change(scratch / "run", "DELETE FROM snapshots WHERE step = 5");
  CHECK_THAT(
      check_store(scratch / "run").damage,
      Catch::Matchers::VectorContains(std::string("the times of the steps: 1 of 42 rows missing")));
}

TEST_CASE("a row whose key has another type is told, whatever its checksum says") {
  const TemporaryFolder scratch;
  for (const std::string of : {"scalars", "arrays"}) {
    CAPTURE(of);
    const auto dir = scratch / of;
    make_run(dir);
    {
      SQLite::Database sql((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE);
      add_row_crc(sql);
      const auto& table = of == "arrays" ? kArrays : kScalars;
      sql.exec("UPDATE " + of + " SET step = -1e300 WHERE step = 7");
      sql.exec("UPDATE " + of + " SET crc = row_crc(" + table.columns + ")");
      sql.exec("DELETE FROM totals");
      fill_totals(sql);
    }
    const std::string told = of == "arrays" ? "hessian/density, step -1.0e+300"
                                            : "kappa/sigma of blocks.3, step -1.0e+300";
    CHECK_THAT(check_store(dir).damage, Catch::Matchers::VectorContains(told));
    const RunReader run(dir);
    rows_of(run);
    CHECK_FALSE(run.damaged().empty());
  }
}

TEST_CASE("a step that no training comes to is damage, whatever its checksum says") {
  for (const auto step : {"9223372036854775807", "-9223372036854775808", "9007199254740993"}) {
    CAPTURE(step);
    const TemporaryFolder scratch;
    make_run(scratch.path());
    {
      SQLite::Database sql((scratch / "run.sqlite").string(), SQLite::OPEN_READWRITE);
      add_row_crc(sql);
      for (const auto& table : {kSnapshots, kScalars, kArrays, kEvents}) {
        sql.exec(fmt::format("UPDATE {} SET step = {} WHERE step = 7", table.name, step));
        sql.exec(fmt::format("UPDATE {} SET crc = row_crc({})", table.name, table.columns));
      }
      sql.exec("DELETE FROM totals");
      fill_totals(sql);
    }
    const auto found = check_store(scratch.path()).damage;
    for (const std::string of : {"the time of", "an event of", "kappa/sigma of blocks.3,"})
      CHECK_THAT(found, Catch::Matchers::VectorContains(of + " step " + step));
    const RunReader run(scratch.path());
    CHECK(run.last_step() == 40);
    for (const auto& event : run.events()) CHECK(event.step <= 40);
    rows_of(run);
    CHECK_FALSE(run.damaged().empty());
  }
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch / "run", {});
  CHECK_THROWS_WITH(writer.write({.step = kLargestStep + 1}), Contains("no step of a training"));
  writer.write({.step = kLargestStep});
  CHECK(RunReader(scratch / "run").last_step() == kLargestStep);
}

TEST_CASE("the last step is one that was written") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  change(scratch.path(), "INSERT INTO snapshots VALUES(1000000, 'later', 1)");
  const RunReader run(scratch.path());
  CHECK(run.last_step() == 40);
  CHECK_THAT(run.last_written(), !Contains("later"));
  CHECK(run.damaged() == std::vector<std::string>{"the time of step 1000000"});
}

TEST_CASE("totals follow what is replaced, taken back and added") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  {
    auto writer = RunWriter::append(scratch.path());
    writer.write(snapshot(7));  // in place of its own rows, but one event more
    writer.write_verdict({"P-X", "holds", "", "{}"});
    writer.set_fact("label", "b");
  }
  CHECK(check_store(scratch.path()).damage.empty());
  {
    auto writer = RunWriter::resume(scratch.path(), 20);
    writer.write(snapshot(21));
    writer.write({.step = 22, .scalars = {{"loss/train", "", 1}, {"loss/train", "", 2}}});
  }
  CHECK(check_store(scratch.path()).damage.empty());
  const RunReader run(scratch.path());
  CHECK(run.scalars({"kappa/sigma", "blocks.3"}).size() == 22);
  REQUIRE(run.scalars({"loss/train", ""}).size() == 1);
  CHECK(rows_of(run).size() == 20 * 22 + 1 + 22 + 24 + 2);
  CHECK(run.damaged().empty());
}

TEST_CASE("a table that is not this program's is refused before a search can take for ever") {
  const TemporaryFolder scratch;
  const auto refused = [&](const std::string& sql, const std::string& why) {
    CAPTURE(sql);
    const auto dir = scratch / "run";
    fs::remove_all(dir);
    make_run(dir);
    change(dir, sql);
    CHECK_THROWS_WITH(RunReader(dir), Contains(why) && Contains("damaged"));
    CHECK_THROWS_AS(RunWriter::append(dir), Error);
    CHECK_THROWS_AS(check_store(dir), Error);
  };
  refused(
      "CREATE TABLE kept AS SELECT * FROM scalars; DROP TABLE scalars; "
      "ALTER TABLE kept RENAME TO scalars",
      "its table scalars");
  refused(
      "DROP TABLE events; CREATE TABLE events(id INTEGER PRIMARY KEY, step INTEGER NOT NULL, "
      "time TEXT NOT NULL, kind TEXT NOT NULL COLLATE NOCASE, message TEXT NOT NULL, "
      "crc INTEGER)",
      "its table events");
  refused("DROP TABLE totals", "its table totals");
  change(scratch / "run", "PRAGMA user_version = 3");  // what is left is what that version had
  CHECK(RunReader(scratch / "run").damaged().empty());
}

TEST_CASE("texts that nobody reads are cut, and names that no run has are refused") {
  const TemporaryFolder scratch;
  const std::string letters(300'000, 'x'), signs = std::string(999, 'y') + "üü";
  {
    auto writer = RunWriter::create(scratch.path(), {{"label", letters}, {"condition", signs}});
    writer.write({.step = 1, .events = {{"note", letters}}});
    CHECK_THROWS_WITH(writer.write({.step = 2, .scalars = {{"user/" + letters, "", 1}}}),
                      Contains("more than 1000 bytes"));
    CHECK_THROWS_WITH(writer.write({.step = 2, .scalars = {{"user/a", letters, 1}}}),
                      Contains("more than 1000 bytes"));
  }
  const RunReader run(scratch.path());
  CHECK(run.fact("label").size() < 1'100);
  CHECK_THAT(run.fact("label"), Catch::EndsWith("… (of 300000 bytes)"));
  // Not within a sign of two bytes.
  CHECK(run.fact("condition") == std::string(999, 'y') + "… (of 1003 bytes)");
  REQUIRE(run.events().size() == 1);
  CHECK_THAT(run.events()[0].event.message, Catch::StartsWith(std::string(65'536, 'x') + "…"));
  // A name that somebody else has written.
  make_run(scratch / "run");
  change(scratch / "run",
         "UPDATE scalars SET layer = printf('%.*c', 1001, 'x') WHERE name = 'user/0'");
  CHECK_THROWS_WITH(RunReader(scratch / "run").series(),
                    Contains("more than 1000 bytes, as no run that was written has"));
  CHECK_THAT(check_store(scratch / "run").damage,
             Catch::Matchers::VectorContains(
                 std::string("a name in the table scalars has more than 1000 bytes")));
  // Nor one of a series that is said to have been there.
  make_run(scratch / "counted");
  {
    SQLite::Database sql((scratch / "counted/run.sqlite").string(), SQLite::OPEN_READWRITE);
    add_row_crc(sql);
    sql.exec(
        "INSERT INTO totals(of, name, layer, rows, sum) "
        "VALUES('scalars', printf('%.*c', 1001, 'x'), '', 1, 1)");
    sql.exec(fmt::format("UPDATE totals SET crc = row_crc({})", kTotals.columns));
  }
  for (const auto& key : RunReader(scratch / "counted").series()) CHECK(key.name.size() <= 1000);
  const auto damage = check_store(scratch / "counted").damage;
  REQUIRE(damage.size() == 1);
  CHECK_THAT(damage[0], Contains("number of rows of scalars xxx"));
  CHECK(damage[0].size() < 200);
}
