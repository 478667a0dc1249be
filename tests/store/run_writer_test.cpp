// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/run_writer.h"

#include <fstream>

#include "kappascope/core/error.h"
#include "kappascope/store/run_reader.h"
#include "store/fixture.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;

TEST_CASE("what was written is read back, missing parts missing") {
  const TemporaryFolder scratch;
  const auto dir = scratch / "deep/run";
  {
    auto writer = RunWriter::create(dir, {{"label", "no bias"}, {"seed", "7"}});
    CHECK(writer.dir() == dir);
    writer.write(
        {.step = 3,
         .scalars = {{.name = "loss/train", .layer = "", .value = 0.25},
                     {.name = "kappa/sigma",
                      .layer = "blocks.0.down_proj",
                      .value = 12.5,
                      .lower = 10.0,
                      .upper = kInfinity,
                      .n = 4096.0,
                      .n_effective = 64.0,
                      .status = "biased"},
                     {.name = "kappa/sigma",
                      .layer = "blocks.1.down_proj",
                      .value = kNan,
                      .status = "not_resolvable"}},
         .arrays = {{"user/table", "blocks.0.down_proj", {2, 3}, {1, 2, 3, 4, 5, kInfinity}}},
         .events = {{"probe_skipped", "over budget"}}});
    writer.set_fact("device", "cpu");
    writer.set_state("finished");
  }
  const RunReader reader(dir);
  CHECK(reader.dir() == dir);
  CHECK(reader.state() == "finished");
  CHECK(reader.facts() ==
        Facts{{"label", "no bias"}, {"seed", "7"}, {"journal_mode", "wal"}, {"device", "cpu"}});
  CHECK(reader.fact("seed") == "7");
  CHECK(reader.fact("absent", "none") == "none");
  CHECK(reader.last_step() == 3);
  CHECK(reader.series() == std::vector<SeriesKey>{{"kappa/sigma", "blocks.0.down_proj"},
                                                  {"kappa/sigma", "blocks.1.down_proj"},
                                                  {"loss/train", ""}});

  const auto kappa = reader.scalars({"kappa/sigma", "blocks.0.down_proj"});
  REQUIRE(kappa.size() == 1);
  CHECK(kappa[0].step == 3);
  CHECK(kappa[0].scalar.name == "kappa/sigma");
  CHECK(kappa[0].scalar.layer == "blocks.0.down_proj");
  CHECK(kappa[0].scalar.value == 12.5);
  CHECK(kappa[0].scalar.lower == 10.0);
  CHECK(kappa[0].scalar.upper == kInfinity);
  CHECK(kappa[0].scalar.n == 4096.0);
  CHECK(kappa[0].scalar.n_effective == 64.0);
  CHECK(kappa[0].scalar.status == "biased");

  const auto unresolved = reader.scalars({"kappa/sigma", "blocks.1.down_proj"}).at(0).scalar;
  CHECK(std::isnan(unresolved.value));
  CHECK_FALSE(unresolved.lower.has_value());
  CHECK_FALSE(unresolved.n.has_value());
  CHECK(unresolved.status == "not_resolvable");

  REQUIRE(reader.array_series() == std::vector<SeriesKey>{{"user/table", "blocks.0.down_proj"}});
  const auto arrays = reader.arrays({"user/table", "blocks.0.down_proj"});
  REQUIRE(arrays.size() == 1);
  CHECK(arrays[0].first == 3);
  CHECK(arrays[0].second.shape == std::vector<std::int64_t>{2, 3});
  CHECK(arrays[0].second.data == std::vector<double>{1, 2, 3, 4, 5, kInfinity});

  REQUIRE(reader.events().size() == 1);
  CHECK(reader.events()[0].step == 3);
  CHECK(reader.events()[0].time.size() == 20);
  CHECK(reader.events()[0].event.kind == "probe_skipped");
  CHECK(reader.events()[0].event.message == "over budget");
}

TEST_CASE("a new run has no steps and is running while its writer lives") {
  const TemporaryFolder scratch;
  auto writer = std::make_unique<RunWriter>(RunWriter::create(scratch.path(), {}));
  const RunReader reader(scratch.path());
  CHECK(reader.last_step() == -1);
  CHECK(reader.series().empty());
  CHECK(reader.scalars({"loss/train", ""}).empty());
  CHECK(reader.state() == "running");
  writer.reset();
  CHECK(reader.state() == "dead");
}

TEST_CASE("a directory that holds a run is refused, and the run stays") {
  const TemporaryFolder scratch;
  RunWriter::create(scratch.path(), {{"label", "first"}}).write(snapshot(5));
  REQUIRE_THROWS_WITH(RunWriter::create(scratch.path(), {}),
                      Contains(scratch.path().string() + " already holds a run"));
  CHECK(RunReader(scratch.path()).fact("label") == "first");
  CHECK(RunReader(scratch.path()).last_step() == 5);
}

TEST_CASE("other files in the directory do not disturb, a file in its place does") {
  const TemporaryFolder scratch;
  std::ofstream(scratch / "notes.txt") << "mine";
  RunWriter::create(scratch.path(), {}).write(snapshot(5));
  CHECK(RunReader(scratch.path()).last_step() == 5);
  CHECK(std::filesystem::file_size(scratch / "notes.txt") == 4);
  REQUIRE_THROWS_WITH(RunWriter::create(scratch / "notes.txt", {}),
                      Contains((scratch / "notes.txt").string()) && Contains("Not a directory"));
}

TEST_CASE("the second writer of a run is refused with the holder named, readers are not") {
  const TemporaryFolder scratch;
  const auto writer = RunWriter::create(scratch.path(), {});
  const auto refusal = Contains(scratch.path().string() + ": it is being written by process " +
                                std::to_string(getpid()));
  REQUIRE_THROWS_WITH(RunWriter::append(scratch.path()), refusal);
  REQUIRE_THROWS_WITH(RunWriter::resume(scratch.path(), 0), refusal);
  REQUIRE_THROWS_WITH(RunWriter::create(scratch.path(), {}), refusal);
  CHECK(RunReader(scratch.path()).state() == "running");
}

TEST_CASE("the same name, layer and step written twice keeps the second") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch.path(), {});
  writer.write({.step = 1,
                .scalars = {{.name = "user/trace", .layer = "", .value = 1, .lower = 0.5}},
                .arrays = {{"user/density", "", {2}, {1, 2}}}});
  writer.write({.step = 1,
                .scalars = {{.name = "user/trace", .layer = "", .value = 2}},
                .arrays = {{"user/density", "", {1}, {3}}}});
  const RunReader reader(scratch.path());
  const auto trace = reader.scalars({"user/trace", ""});
  REQUIRE(trace.size() == 1);
  CHECK(trace[0].scalar.value == 2);
  CHECK_FALSE(trace[0].scalar.lower.has_value());
  const auto density = reader.arrays({"user/density", ""});
  REQUIRE(density.size() == 1);
  CHECK(density[0].second.data == std::vector<double>{3});
}

TEST_CASE("resuming removes what came later and says so") {
  const TemporaryFolder scratch;
  {
    auto writer = RunWriter::create(scratch.path(), {{"seed", "7"}});
    for (const int step : {0, 10, 20, 21, 40, 50}) writer.write(snapshot(step));
    writer.write_verdict({"P-L2", "refuted", "", "{}"});
    writer.set_state("interrupted");
  }
  auto writer = RunWriter::resume(scratch.path(), 20);
  const RunReader reader(scratch.path());
  CHECK(reader.state() == "running");
  CHECK(reader.last_step() == 20);
  for (const auto& key : reader.series()) CHECK(reader.scalars(key).size() == 3);
  CHECK(reader.arrays({"hessian/density", ""}).size() == 3);
  CHECK(reader.fact("seed") == "7");
  CHECK(reader.verdicts().size() == 1);
  const auto events = reader.events();
  REQUIRE(events.size() == 4);
  CHECK(events.back().step == 20);
  CHECK(events.back().event.kind == "resumed");
  CHECK(events.back().event.message == "resumed after 21 steps");
  writer.write(snapshot(30));
  CHECK(reader.last_step() == 30);
}

TEST_CASE("appending to a finished run keeps its rows and its state") {
  const TemporaryFolder scratch;
  {
    auto writer = RunWriter::create(scratch.path(), {});
    writer.write(snapshot(10));
    writer.set_state("finished");
  }
  auto writer = RunWriter::append(scratch.path());
  writer.write_verdict({"P-L2a", "holds", "", R"({"margin": 0.1})"});
  writer.write_verdict({"P-L2b", "holds", "", "{}"});
  writer.write_verdict({"P-L2a", "holds_under", "b = 0", "{}"});
  const RunReader reader(scratch.path());
  CHECK(reader.state() == "finished");
  CHECK(reader.last_step() == 10);
  const auto verdicts = reader.verdicts();
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[0].claim == "P-L2a");
  CHECK(verdicts[0].outcome == "holds_under");
  CHECK(verdicts[0].condition == "b = 0");
  CHECK(verdicts[0].json == "{}");
}

TEST_CASE("an invalid snapshot is refused whole") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch.path(), {});
  Snapshot bad = snapshot(1);
  bad.arrays.push_back({"spectrum", "", {2, 2}, {1, 2, 3}});
  REQUIRE_THROWS_WITH(writer.write(bad), Contains("[2, 2]") && Contains("3 numbers"));
  bad.arrays.back() = {"spectrum", "", {-1}, {}};
  REQUIRE_THROWS_AS(writer.write(bad), Error);
  bad.arrays.clear();
  bad.scalars.front().name.clear();
  REQUIRE_THROWS_WITH(writer.write(bad), Contains("no name"));
  REQUIRE_THROWS_WITH(writer.set_state("done"), Contains("'done'"));
  REQUIRE_THROWS_WITH(writer.set_fact("state", "finished"), Contains("set_state"));
  CHECK(RunReader(scratch.path()).last_step() == -1);
}
