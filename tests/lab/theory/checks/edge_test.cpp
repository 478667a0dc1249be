// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/edge.h"

#include <cmath>
#include <random>
#include <string>

#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::theory;
using Catch::Contains;

namespace {

/// Runs that rise from a third of their limit to `share` of it, or never reach it.
StudyRuns at_edge(double share, double spread, bool reached = true, double start = 0.3) {
  StudyRuns study{"a-study", {}};
  std::mt19937_64 noise(11);
  std::normal_distribution<double> normal(share, spread);
  for (const auto* arm : {"descent 0.1", "descent 0.2", "momentum 0.1"}) {
    for (int seed = 1; seed <= 3; ++seed) {
      study::RunEnd run;
      run.arm = arm;
      run.seed = std::to_string(seed);
      run.values["edge/start"] = {start, 99};
      run.values["edge/first"] = {reached ? 40.0 : NAN, 99};
      run.values["edge/share"] = {reached ? normal(noise) : NAN, 99};
      run.values["edge/within"] = {reached ? 0.97 : NAN, 99};
      study.runs.push_back(run);
    }
  }
  return study;
}

}  // namespace

TEST_CASE("the edge of stability: reached and kept, passed by, not reached, begun at") {
  const auto holds = check_edge(at_edge(1.02, 0.01), "descent");
  CHECK(holds.outcome == Outcome::kHoldsUnder);
  CHECK(holds.measured == Approx(1.02).margin(0.02));
  CHECK(holds.cases == 6);  // of the arms of this name alone
  CHECK(*holds.p < 0.05);
  CHECK_THAT(holds.condition, Contains("descent 0.1: from 0.3 of the limit to it at step 40"));
  const auto passed = check_edge(at_edge(1.8, 0.01), "descent");
  CHECK(passed.outcome == Outcome::kRefuted);
  CHECK_FALSE(passed.witness.empty());
  CHECK(check_edge(at_edge(1.1, 0.3), "descent").outcome == Outcome::kTooFewRuns);
  const auto short_run = check_edge(at_edge(1, 0.01, false), "descent");
  CHECK(short_run.outcome == Outcome::kUndecided);
  CHECK_THAT(short_run.condition, Contains("did not reach the limit"));
  CHECK(check_edge(at_edge(1, 0.01, true, 1.2), "descent").outcome == Outcome::kUndecided);
  CHECK(check_edge(at_edge(1, 0.01), "Adam").outcome == Outcome::kUndecided);
  auto one_diverged = at_edge(1.02, 0.01);
  one_diverged.runs[4].state = "failed";
  const auto diverged = check_edge(one_diverged, "descent");
  CHECK(diverged.outcome == Outcome::kUndecided);
  CHECK_THAT(diverged.condition, Contains("seed 2 of 'descent 0.2' diverged"));
}
