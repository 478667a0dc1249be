// SPDX-License-Identifier: Apache-2.0
// A run that the program of schema version 1 wrote reads the same today, and goes on as one of
// today.
#include "kappascope/core/error.h"
#include "kappascope/store/export.h"
#include "store/fixture.h"
#include "support/catch.h"
#include "support/stored_run.h"

using namespace kappascope::store;
using namespace kappascope::store::test;
using kappascope::testing::version_of;
using kappascope::testing::write_stored_run;

namespace {

const std::string kBlock = "blocks.*.down_proj.weight";

Attributes attributes_of(const RunReader& run, const SeriesKey& key) {
  return run.scalars(key).at(0).scalar.attributes;
}

/// What is known of it without this program: read off with sqlite3 when it was written.
void check_content(const RunReader& run) {
  CHECK(run.series().size() == 62);
  CHECK(run.last_step() == 11);
  const auto kappa = run.scalars({id::kKappaSigma, "blocks.0.down_proj"});
  REQUIRE(kappa.size() == 3);
  CHECK(kappa[0].scalar.status == Status::kBiased);
  CHECK(kappa[0].scalar.attributes.empty());
  const auto products = run.scalars({id::kFeatureProducts, "blocks.0.down_proj"});
  REQUIRE(products.size() == 3);
  for (const auto& [step, scalar] : products) {
    CHECK(scalar.status == Status::kOk);
    CHECK(scalar.value == 0);
    CHECK(scalar.attributes == Attributes{{"route", "decomposition"}});
  }
  const auto spectrum = [&](SpectrumPart part) {
    return SeriesKey{spectrum_series("hessian", kBlock, part), ""};
  };
  CHECK(attributes_of(run, spectrum(part::kProductType)) == Attributes{{"text", "float"}});
  CHECK(attributes_of(run, spectrum(part::kProductKind)) == Attributes{{"text", "graph kept"}});
  CHECK(attributes_of(run, spectrum(part::kProductReason)) == Attributes{{"text", ""}});
  CHECK(attributes_of(run, spectrum(part::kProductNoise)).empty());
  CHECK(run.scalars(spectrum(part::kStatus)).at(0).scalar.status == Status::kConverged);
  CHECK(attributes_of(run, {id::kCost.of("hessian"), ""}) == Attributes{{"budget", "0"}});
  CHECK(attributes_of(run, {id::kCostTotal, ""}).empty());
  for (const auto& key : run.series()) {
    for (const auto& [step, scalar] : run.scalars(key)) {
      INFO(key.name);
      CHECK_NOTHROW(require_in_schema(scalar));
    }
  }
}

}  // namespace

TEST_CASE("a run of version 1 is read without being changed") {
  const TemporaryFolder scratch;
  write_stored_run(scratch.path(), 1);
  check_content(RunReader(scratch.path()));
  CHECK(version_of(scratch.path()) == 1);
}

TEST_CASE("a writer brings a run of version 1 up to date, its numbers and texts kept") {
  const TemporaryFolder scratch;
  for (const auto* way : {"append", "resume"}) {
    const auto dir = scratch / way;
    write_stored_run(dir, 1);
    const RunReader before(dir);
    std::ostringstream old_csv, new_csv;
    export_csv(before, old_csv);
    if (std::string(way) == "append") {
      RunWriter::append(dir);
    } else {
      RunWriter::resume(dir, 11);
    }
    CHECK(version_of(dir) == 4);
    export_csv(RunReader(dir), new_csv);
    CHECK(new_csv.str() == old_csv.str());
    check_content(RunReader(dir));
    check_content(before);  // a reader that was there already follows
  }
}

TEST_CASE("only a run that said so had no budget") {
  const TemporaryFolder scratch;
  for (const auto* change : {"replace(value, 'budget = 0', 'budget = 0.01')",
                             "replace(value, 'hessian-budget = 0', 'hessian-budget = 0.5')"}) {
    write_stored_run(scratch / "run", 1);
    {
      SQLite::Database sql((scratch / "run/run.sqlite").string(), SQLite::OPEN_READWRITE);
      sql.exec(std::string("UPDATE facts SET value = ") + change + " WHERE key = 'config'");
    }
    CHECK(attributes_of(RunReader(scratch / "run"), {id::kCost.of("hessian"), ""}).empty());
    std::filesystem::remove_all(scratch / "run");
  }
}

TEST_CASE("a migration that fails leaves the run as that before it made it") {
  const TemporaryFolder scratch;
  write_stored_run(scratch.path(), 1);
  {
    SQLite::Database sql((scratch / "run.sqlite").string(), SQLite::OPEN_READWRITE);
    sql.exec("CREATE TABLE totals(x)");  // what the last of three would make
  }
  CHECK_THROWS_AS(RunWriter::append(scratch.path()), kappascope::Error);
  CHECK(version_of(scratch.path()) == 3);
  check_content(RunReader(scratch.path()));
}

TEST_CASE("a status of another program is kept as a text") {
  const TemporaryFolder scratch;
  RunWriter::create(scratch.path(), {}).write(snapshot(0));
  make_version2(scratch.path());
  {
    SQLite::Database sql((scratch / "run.sqlite").string(), SQLite::OPEN_READWRITE);
    sql.exec("UPDATE scalars SET status = 'splendid'");
  }
  const auto scalar = RunReader(scratch.path()).scalars({id::kKappaSigma, "blocks.0"}).at(0).scalar;
  CHECK(scalar.status == Status::kOther);
  CHECK(scalar.attributes == Attributes{{"status", "splendid"}});
  CHECK_FALSE(usable(scalar));
}
