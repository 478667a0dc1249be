// SPDX-License-Identifier: Apache-2.0
// The program opens the runs that programs of every schema version wrote, and goes on with one.
#include <filesystem>

#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/stored_run.h"
#include "support/workplace.h"

using Catch::Contains;
using kappascope::store::RunReader;
using kappascope::testing::Workplace;
using kappascope::testing::write_stored_run;
namespace fs = std::filesystem;

TEST_CASE("every command that reads runs reads those of every version") {
  const Workplace work;
  for (const int version : {1, 2, 3, 4}) {
    CAPTURE(version);
    const auto run = "version" + std::to_string(version);
    write_stored_run(work.path() / run, version);
    CHECK_THAT(work.run("check " + run).out, Contains(run + ": whole;"));
    for (const auto* command : {"report ", "export ", "advise ", "verify P-L2e --run "})
      CHECK(
          work.run(command + run + (command[0] == 'r' ? " --out page.html --force" : "")).status ==
          0);
  }
  const auto listed = work.run("runs . --json");
  CHECK(listed.status == 0);
  CHECK(std::count(listed.out.begin(), listed.out.end(), '\n') == 4);
}

TEST_CASE("a run and its checkpoint of version 3 are measured, and trained to their end") {
  const Workplace work;
  const auto run = work.path() / "run";
  write_stored_run(run, 3);
  fs::create_directories(run / "checkpoints");
  fs::copy(KAPPASCOPE_STORED_RUNS "/version3-step-00000006.safetensors",
           run / "checkpoints/step-00000006.safetensors");
  CHECK_THAT(work.run("check run").out, Contains("run: whole;") && Contains("1 whole checkpoint"));
  const RunReader reader(run);
  const auto losses = [&] { return reader.scalars({"loss/train", ""}); };
  const auto before = losses();
  REQUIRE(before.size() == 12);
  const kappascope::store::SeriesKey lambda{"spectrum/hessian/blocks.*.down_proj.weight/lambda_1",
                                            ""};
  const auto stored = reader.scalars(lambda).at(0).scalar;
  REQUIRE(work.run("spectrum run --rows 20 --top 1 --block 'blocks.*.down_proj.weight'").status ==
          0);
  CHECK(reader.scalars(lambda).at(0).scalar.value == Approx(stored.value).epsilon(1e-3));
  REQUIRE(work.run("train --resume run").status == 0);
  const auto after = losses();
  REQUIRE(after.size() == 12);
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(i);
    // To the bit before the checkpoint, and from there on to what another processor rounds.
    if (i < 6) CHECK(after[i].scalar.value == before[i].scalar.value);
    CHECK(after[i].scalar.value == Approx(before[i].scalar.value).epsilon(1e-4));
  }
  CHECK(work.run("check run").status == 0);
}
