// SPDX-License-Identifier: Apache-2.0
// The runs that programs of every schema version wrote are whole, read the same, and go on.
#include <sstream>

#include "kappascope/core/error.h"
#include "kappascope/store/export.h"
#include "store/check.h"
#include "store/fixture.h"
#include "support/catch.h"
#include "support/stored_run.h"

using namespace kappascope::store;
using namespace kappascope::store::test;
using kappascope::testing::version_of;
using kappascope::testing::write_stored_run;

namespace {

constexpr int kNewest = 4;

std::string csv_of(const std::filesystem::path& dir) {
  std::ostringstream out;
  export_csv(RunReader(dir), out);
  return out.str();
}

}  // namespace

TEST_CASE("there is a stored run of every schema version up to that of a new run") {
  const TemporaryFolder scratch;
  RunWriter::create(scratch.path(), {});
  CHECK(version_of(scratch.path()) == kNewest);
  for (int version = 1; version <= kNewest; ++version) {
    CAPTURE(version);
    const auto dir = scratch / std::to_string(version);
    write_stored_run(dir, version);
    CHECK(version_of(dir) == version);
  }
}

TEST_CASE("the run of every version is whole, in the schema, and loses nothing to a writer") {
  const TemporaryFolder scratch;
  for (int version = 1; version <= kNewest; ++version) {
    CAPTURE(version);
    const auto dir = scratch / std::to_string(version);
    write_stored_run(dir, version);
    const auto old = check_store(dir);
    CHECK(old.damage.empty());
    CHECK(old.checksums == (version >= 3));
    const RunReader before(dir);
    CHECK(before.last_step() == 11);
    CHECK(before.state() == "finished");
    for (const auto& key : before.series()) {
      CAPTURE(key.name);
      for (const auto& [step, scalar] : before.scalars(key))
        CHECK_NOTHROW(require_in_schema(scalar));
    }
    const auto numbers = csv_of(dir);
    RunWriter::append(dir).set_state("finished");
    CHECK(version_of(dir) == kNewest);
    const auto now = check_store(dir);
    CHECK(now.damage.empty());
    CHECK(now.checksums);
    CHECK(csv_of(dir) == numbers);
    {
      auto writer = RunWriter::resume(dir, 5);
      writer.write({.step = 6, .scalars = {{.name = "loss/train", .value = 0.5}}});
    }
    const auto losses = RunReader(dir).scalars({"loss/train", ""});
    REQUIRE(losses.size() == 7);
    CHECK(losses.back().scalar.value == 0.5);
  }
}

TEST_CASE("what a newer program made of the run of an older one reads as that one does") {
  const TemporaryFolder scratch;
  for (int version = 1; version <= kNewest; ++version)
    write_stored_run(scratch / std::to_string(version), version);
  CHECK(csv_of(scratch / "1") == csv_of(scratch / "2"));
  CHECK(csv_of(scratch / "3") == csv_of(scratch / "4"));
}

TEST_CASE("the run of version 3 has what was read off with sqlite3 when it was written") {
  const TemporaryFolder scratch;
  write_stored_run(scratch.path(), 3);
  const RunReader run(scratch.path());
  CHECK(run.fact("version") == "0.2.0");
  CHECK(run.series().size() == 77);
  CHECK(run.arrays({"spectrum/hessian/blocks.*.down_proj.weight/eigenvalues", ""}).size() == 1);
  const auto kappa = run.scalars({id::kKappaSigma, "blocks.0.down_proj"});
  REQUIRE(kappa.size() == 4);
  CHECK(kappa.back().scalar.value == Approx(18.4479518609691).epsilon(1e-12));
  CHECK(kappa.back().scalar.status == Status::kBiased);
  const auto lambda = run.scalars({"spectrum/hessian/blocks.*.down_proj.weight/lambda_1", ""});
  REQUIRE(lambda.size() == 1);
  CHECK(lambda[0].scalar.value == Approx(4.42008006410768e-05).epsilon(1e-12));
  CHECK(lambda[0].scalar.status == Status::kConverged);
  REQUIRE(run.events().size() == 1);
  CHECK(run.events()[0].event.kind == "spectrum");
  CHECK(run.verdicts().size() == 1);
}
