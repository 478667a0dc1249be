// SPDX-License-Identifier: Apache-2.0
#include "lab/report/builders.h"
#include "lab/report/sample_study.h"
#include "reports/runs/median_arm.h"
#include "support/catch.h"

namespace kappascope::reports {

TEST_CASE("runs that failed are in no median, and an arm without runs is empty", "[study]") {
  const TemporaryFolder folder;
  write_study_run(folder / "s", {.seed = 1, .loss = 1});
  write_study_run(folder / "s", {.seed = 2, .loss = 50, .failed = true});
  write_study_run(folder / "s", {.seed = 3, .loss = 3});
  write_study_run(folder / "s", {.arm = "biased", .seed = 1, .failed = true});
  const auto sample = read_sample(folder / "s");
  const StudyView study = view_of(sample.result, sample.runs);
  const auto arms = median_arms(study, "");
  REQUIRE(arms.size() == 2);
  CHECK(arms[0].seeds == 2);
  CHECK(arms[0].last("loss/test")->scalar.value == 2);
  CHECK(arms[0].last("loss/test")->scalar.upper == 3);
  CHECK(arms[1].label == "biased");
  CHECK(arms[1].seeds == 0);
  CHECK(arms[1].scalars.empty());
  CHECK(seeds_in_words(arms) == "median of 2 seeds, band: lowest to highest that they allow");
}

}  // namespace kappascope::reports
