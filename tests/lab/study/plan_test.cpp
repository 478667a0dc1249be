// SPDX-License-Identifier: Apache-2.0
#include "lab/study/plan.h"

#include <fstream>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run.h"
#include "lab/study/study.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::study;
using Catch::Contains;

namespace {

StudyDefinition two_arms() {
  return {.name = "s",
          .seeds = first_seeds(2),
          .arms = {{"no bias", {{"model.bias", "none"}}}, {"PGB", {{"model.bias", "pgb"}}}},
          .grid = {{"model.dropout", {"0", "0.2"}}},
          .base = {{"train.steps", "12"}}};
}

}  // namespace

TEST_CASE("a plan has every arm, condition and seed, whole pairs first") {
  const auto runs = plan_runs(two_arms(), "folder", {{"train.batch", "8"}});
  REQUIRE(runs.size() == 8);
  CHECK(runs[0].name == "no-bias_dropout-0_seed-1");
  CHECK(runs[1].name == "PGB_dropout-0_seed-1");
  CHECK(runs[2].name == "no-bias_dropout-0_seed-2");
  CHECK(runs[4].name == "no-bias_dropout-0.2_seed-1");
  CHECK(runs[1].dir == std::filesystem::path("folder") / runs[1].name);
  CHECK(runs[1].arm == "PGB");
  CHECK(runs[0].arm == "no bias");
  CHECK(runs[4].condition == "dropout 0.2");
  CHECK(runs[2].seed == 2);
  const IniSettings expected = {
      {"train.steps", "12"}, {"train.batch", "8"}, {"model.dropout", "0"}, {"model.bias", "pgb"}};
  CHECK(runs[1].settings == expected);
}

TEST_CASE("what the study would overwrite silently is refused") {
  auto own = two_arms();
  own.base.emplace_back("train.seed", "3");
  CHECK_THROWS_WITH(plan_runs(own, "f"), Contains("the study's own"));
  CHECK_THROWS_WITH(plan_runs(two_arms(), "f", {{"label", "x"}}), Contains("the study's own"));
  CHECK_THROWS_WITH(plan_runs(two_arms(), "f", {{"model.bias", "both"}}), Contains("differ by"));
  auto alike = two_arms();
  alike.arms[1].first = "no-bias";
  CHECK_THROWS_WITH(plan_runs(alike, "f"), Contains("would be called"));
  auto longer = two_arms();
  longer.arms[1].first = std::string(300, 'x');
  CHECK_THROWS_WITH(plan_runs(longer, "f"), Contains("shorten the labels"));
  auto none = two_arms();
  none.arms.clear();
  CHECK_THROWS_AS(plan_runs(none, "f"), UsageError);
}

TEST_CASE("progress is what the folders hold") {
  const TemporaryFolder folder;
  auto definition = two_arms();
  definition.grid.clear();
  definition.seeds = first_seeds(3);
  auto runs = plan_runs(definition, folder.path());
  begin_run(runs[0]).set_state("finished");
  begin_run(runs[1]).set_state("failed");
  begin_run(runs[2]).set_state("interrupted");
  auto other = runs[3];
  other.settings.emplace_back("train.steps", "13");
  begin_run(other).set_state("finished");
  std::filesystem::create_directories(runs[4].dir);
  std::ofstream(runs[4].dir / "file") << "x";
  find_progress(runs);
  CHECK(runs[0].progress == Progress::kEnded);
  CHECK(runs[1].progress == Progress::kEnded);
  CHECK(runs[2].progress == Progress::kInterrupted);
  CHECK(runs[3].progress == Progress::kConflict);
  CHECK_THAT(runs[3].conflict, Contains("'steps = 13' there, 'steps = 12' now"));
  CHECK(runs[4].progress == Progress::kConflict);
  CHECK_THAT(runs[4].conflict, Contains("in the way"));
  CHECK(runs[5].progress == Progress::kMissing);
  // What a run held that was taken away is not trained again as if there were nothing.
  auto copy = runs[5];
  copy.dir += "-rescued";
  begin_run(copy).set_state("interrupted");
  find_progress(runs);
  CHECK(runs[5].progress == Progress::kConflict);
  CHECK_THAT(runs[5].conflict, Contains("rename it to " + runs[5].dir.string() + " to go on"));
  std::filesystem::rename(copy.dir, runs[5].dir);
  find_progress(runs);
  CHECK(runs[5].progress == Progress::kInterrupted);
  // The caller may know better which settings matter, and may fail to read the stored ones.
  find_progress(runs, [](const StudyRun&, const std::string&) { return ""; });
  CHECK(runs[3].progress == Progress::kEnded);
  find_progress(runs, [](const StudyRun&, const std::string&) -> std::string {
    throw Error("cannot be read");
  });
  CHECK(runs[0].progress == Progress::kConflict);
  CHECK(runs[0].conflict == "cannot be read");
}
