// SPDX-License-Identifier: Apache-2.0
// Levels of arms on runs that say just what a test wants them to say.
#include "theory/checks/studies/levels.h"

#include <random>

#include "lab/theory/checks/added_runs.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::theory;
using Catch::Contains;
using enum Direction;

namespace {

void add_arm(StudyRuns& study,
             const std::string& arm,
             double level,
             const std::string& condition = "") {
  std::mt19937_64 noise(study.runs.size() + 7);
  std::normal_distribution<double> normal(level, 0.05);
  add_runs(study, arm, condition, "bias/residual", 6, [&](int) { return normal(noise); });
}

Verdict below_half(const StudyRuns& study) {
  return check_level(study, {"bias/residual", "arm", 0.5, kLower, {"other"}});
}

}  // namespace

TEST_CASE("a level: on its side, beyond it under one condition, and not to be told") {
  StudyRuns study{"a-study", {}};
  add_arm(study, "arm", 0.2, "one");
  add_arm(study, "other", 0.9, "one");
  const auto holds = below_half(study);
  CHECK(holds.outcome == Outcome::kHoldsUnder);
  CHECK(holds.measured == Approx(0.2).margin(0.06));
  CHECK(*holds.lower < holds.measured);
  CHECK(holds.measured < *holds.upper);
  CHECK(holds.cases == 6);
  CHECK(*holds.p < 0.01);
  CHECK_THAT(holds.condition, Contains("arm (one) 0.") && Contains("beside it other (one) 0."));
  CHECK(check_level(study, {"bias/residual", "arm", 0.5, kHigher}).outcome == Outcome::kRefuted);

  add_arm(study, "arm", 0.9, "two");
  const auto refuted = below_half(study);
  CHECK(refuted.outcome == Outcome::kRefuted);
  CHECK(refuted.measured == Approx(0.9).margin(0.06));
  CHECK_THAT(refuted.witness, Contains("arm (two)"));
  CHECK(*refuted.p < 0.01);

  StudyRuns open{"a-study", {}};
  add_arm(open, "arm", 0.49);
  CHECK(below_half(open).outcome == Outcome::kTooFewRuns);
}

TEST_CASE("a level that a run does not have, and an arm that is not there, are said") {
  StudyRuns study{"a-study", {}};
  add_arm(study, "arm", 0.2);
  study.runs.back().values.clear();
  const auto lacking = below_half(study);
  CHECK(lacking.outcome == Outcome::kUndecided);
  CHECK_THAT(lacking.condition, Contains("seed 6 of 'arm' has no bias/residual"));
  CHECK_THAT(below_half({"a-study", {}}).condition, Contains("has no arm 'arm'"));
}
