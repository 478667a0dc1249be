// SPDX-License-Identifier: Apache-2.0
#include "store/check.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <random>
#include <sstream>

#include "kappascope/core/error.h"
#include "kappascope/store/export.h"
#include "store/database/connection.h"
#include "store/fixture.h"
#include "support/catch.h"
#include "support/files.h"
#include "support/mutations.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
using Catch::Matchers::UnorderedEquals;
using kappascope::testing::slurp;
namespace fs = std::filesystem;

namespace {

/// A run with a row in every table, among them what is hard to store.
void make_run(const fs::path& dir) {
  auto writer = RunWriter::create(dir, {{"label", "ü"}, {"config", "a = 1\n"}});
  for (int step = 0; step < 4; ++step) writer.write(snapshot(step));
  Snapshot awkward;
  awkward.step = 4;
  const std::string name("user/\xff\0\x01", 8);
  for (const double value : {-0.0, kNan, kInfinity, -kInfinity, 5e-324, 3.0, 1e300})
    awkward.scalars.push_back({.name = name, .layer = std::to_string(value), .value = value});
  awkward.scalars.push_back({.name = "features/products",
                             .layer = "x",
                             .value = 30,
                             .attributes = {{attribute::kRoute, "factorisation"}}});
  awkward.arrays.push_back({"user/empty", "", {0}, {}});
  writer.write(awkward);
  writer.write(awkward);  // replaces its own rows
  writer.write_verdict({"P-X", "refuted", "if", "{}"});
  writer.write_verdict({"P-X", "holds", "when", "[]"});
  writer.set_state("finished");
}

void change(const fs::path& dir, const std::string& sql) {
  SQLite::Database((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE).exec(sql);
}

std::string content(const fs::path& dir) {
  const RunReader run(dir);
  std::ostringstream out;
  export_jsonl(run, out);
  return out.str();
}

}  // namespace

TEST_CASE("a run as it was written is whole, whatever its names and numbers") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  const auto found = check_store(scratch.path());
  CHECK(found.damage.empty());
  CHECK(found.checksums);
  const int totals = 1 + 1 + 20 + 8 + 1 + 1 + 1 + 1;
  CHECK(found.rows == 3 + 1 + 5 + 4 * 20 + 8 + 4 + 1 + 4 + 1 + totals);
  const RunReader run(scratch.path());
  for (const auto& key : run.series()) REQUIRE_FALSE(run.scalars(key).empty());
  CHECK(run.damaged().empty());
}

TEST_CASE("a changed value is found in every column, left out by readers and named") {
  const TemporaryFolder scratch;
  struct Case {
    std::string sql, named, besides{};
  };
  const std::string kappa = " WHERE name = 'kappa/sigma' AND layer = 'blocks.3' AND step = 2";
  const std::string label = "kappa/sigma of blocks.3, step 2";
  for (const auto& [sql, named, besides] :
       {Case{"UPDATE scalars SET value = 2 * value" + kappa, label},
        Case{"UPDATE scalars SET value = NULL" + kappa, label},
        Case{"UPDATE scalars SET lower = lower - 1e-9" + kappa, label},
        Case{"UPDATE scalars SET upper = n, n = upper" + kappa, label},
        Case{"UPDATE scalars SET n_effective = 101" + kappa, label},
        Case{"UPDATE scalars SET status = 'ok'" + kappa, label},
        Case{"UPDATE scalars SET attributes = '{}'" + kappa, label},
        Case{"UPDATE scalars SET crc = NULL" + kappa, label},
        Case{"UPDATE scalars SET layer = 'blocks.33'" + kappa,
             "kappa/sigma of blocks.33, step 2",
             "kappa/sigma of blocks.3: 1 of 4 rows missing"},
        Case{"UPDATE arrays SET data = zeroblob(length(data)) WHERE step = 1",
             "hessian/density, step 1"},
        Case{"UPDATE arrays SET shape = '2,4' WHERE step = 1", "hessian/density, step 1"},
        Case{"UPDATE events SET message = 'step 7' WHERE step = 3", "an event of step 3"},
        Case{"UPDATE verdicts SET outcome = 'refuted'", "the verdict on P-X"},
        Case{"UPDATE facts SET value = 'a = 2' WHERE key = 'config'", "the fact config"},
        Case{"UPDATE facts SET value = 'failed' WHERE key = 'state'", "the fact state"}}) {
    CAPTURE(sql);
    fs::remove_all(scratch / "run");
    make_run(scratch / "run");
    change(scratch / "run", sql);
    std::vector<std::string> expected = {named};
    if (!besides.empty()) expected.push_back(besides);
    CHECK_THAT(check_store(scratch / "run").damage, UnorderedEquals(expected));
    const RunReader run(scratch / "run");
    std::ostringstream all;
    export_jsonl(run, all);
    CHECK_THAT(run.damaged(), UnorderedEquals(expected));
  }
  change(scratch / "run", "UPDATE snapshots SET time = 'yesterday' WHERE step = 2");
  CHECK(check_store(scratch / "run").damage.size() == 2);
}

TEST_CASE("a damaged row costs its own value and no other") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  change(scratch.path(),
         "UPDATE scalars SET value = 1 WHERE name = 'kappa/sigma' AND layer = 'blocks.3' AND step "
         "= 2");
  const RunReader run(scratch.path());
  const auto rest = run.scalars({"kappa/sigma", "blocks.3"});
  REQUIRE(rest.size() == 3);
  CHECK(rest[2].step == 3);
  CHECK(run.scalars({"kappa/sigma", "blocks.4"}).size() == 4);
}

TEST_CASE("a name that is no text any more costs its own row, and no reader hangs on it") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  const auto before = RunReader(scratch.path()).series();
  change(scratch.path(),
         "UPDATE scalars SET name = CAST(name AS BLOB) WHERE name = 'kappa/sigma' AND layer = "
         "'blocks.3' AND step = 2; UPDATE arrays SET layer = CAST(layer AS BLOB)");
  const RunReader run(scratch.path());
  CHECK(run.series() == before);
  REQUIRE(run.array_series().size() == 2);  // which had rows
  CHECK(run.arrays(run.array_series()[0]).empty());
  CHECK(run.scalars({"kappa/sigma", "blocks.3"}).size() == 3);
  CHECK_FALSE(check_store(scratch.path()).damage.empty());
}

TEST_CASE("no flipped bit of a run passes as whole with another content") {
  const TemporaryFolder scratch;
  const auto dir = scratch / "run";
  make_run(dir);
  const auto file = dir / "run.sqlite";
  const auto whole = slurp(file);
  const auto before = content(dir);
  std::mt19937_64 random(2);
  int noticed = 0;
  const int mutations = testing::mutations(400);
  for (int trial = 0; trial < mutations; ++trial) {
    auto damaged = whole;
    // Every fourth among the first bytes, where the header and the schema are.
    const auto range = trial % 4 == 0 ? std::size_t{512} : whole.size();
    const auto at = random() % range;
    const auto bit = random() % 8;
    damaged[at] = static_cast<char>(damaged[at] ^ (1U << bit));
    testing::write_bytes(file, damaged);
    CAPTURE(trial, at, bit);
    try {
      if (!check_store(dir).damage.empty()) {
        ++noticed;
      } else {
        CHECK(content(dir) == before);
      }
    } catch (const Error&) {
      ++noticed;
    }
    for (const auto* left : {"run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal"})
      fs::remove(dir / left);
  }
  // The rest hit pages' free space, of which a small run has much.
  CHECK(noticed > mutations / 10);
}

TEST_CASE("a run of schema version 2 is read, and gets its checksums from the next writer") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  const auto before = content(scratch.path());
  make_version2(scratch.path());
  CHECK(content(scratch.path()) == before);
  const auto old = check_store(scratch.path());
  CHECK_FALSE(old.checksums);
  CHECK(old.damage.empty());
  RunWriter::append(scratch.path());
  const auto found = check_store(scratch.path());
  CHECK(found.checksums);
  CHECK(found.damage.empty());
  CHECK(content(scratch.path()) == before);
  change(scratch.path(), "UPDATE scalars SET value = 7 WHERE layer = 'blocks.3' AND step = 2");
  CHECK(check_store(scratch.path()).damage.size() == 1);
}

TEST_CASE("a header that denies the checksums of its rows is damaged") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  for (const int version : {1, 2}) {
    change(scratch.path(), "PRAGMA user_version = " + std::to_string(version));
    CHECK_THROWS_WITH(RunReader(scratch.path()), Contains("schema version") && Contains("damaged"));
  }
}

TEST_CASE("no trigger and no view of a stranger's file is run") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  change(scratch.path(),
         "CREATE TRIGGER spy AFTER INSERT ON scalars BEGIN DELETE FROM scalars; END;"
         "CREATE TRIGGER sly AFTER UPDATE ON facts BEGIN DELETE FROM events; END;");
  const auto before = RunReader(scratch.path()).events().size();
  RunWriter::append(scratch.path()).write(snapshot(7));
  const RunReader run(scratch.path());
  CHECK(run.scalars({"kappa/sigma", "blocks.3"}).size() == 5);
  CHECK(run.events().size() == before + 1);
  change(scratch.path(),
         "ALTER TABLE verdicts RENAME TO kept; CREATE VIEW verdicts AS SELECT * FROM kept");
  CHECK_THROWS_AS(RunReader(scratch.path()).verdicts(), Error);
}

TEST_CASE("a connection runs no view of a stranger's file and keeps its schema") {
  const TemporaryFolder scratch;
  make_run(scratch.path());
  change(scratch.path(), "CREATE VIEW seen AS SELECT * FROM facts");
  auto sql = connect(scratch / "run.sqlite", true);
  CHECK_THROWS_WITH(sql.exec("SELECT * FROM seen"), Contains("view"));
  CHECK_NOTHROW(sql.exec("SELECT * FROM facts"));
  // Defensive: the schema is written by statements that declare something, and by nothing else.
  sql.exec("PRAGMA writable_schema = ON");
  CHECK_THROWS_WITH(sql.exec("DELETE FROM sqlite_schema"), Contains("may not be modified"));
}
