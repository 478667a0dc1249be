// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/conditions.h"

#include "support/catch.h"

using namespace kappascope::theory;

namespace {

Verdict verdict(Outcome outcome) {
  Verdict made;
  made.outcome = outcome;
  made.cases = 2;
  if (outcome != Outcome::kHolds) made.witness = "x = 1";
  return made;
}

}  // namespace

TEST_CASE("a statement holds under a condition when it does so within and fails outside") {
  const auto both = holds_under("x = 0", verdict(Outcome::kHolds), verdict(Outcome::kRefuted));
  CHECK(both.outcome == Outcome::kHoldsUnder);
  CHECK(both.witness == "x = 1");
  CHECK(both.condition == "x = 0");
  CHECK(both.cases == 4);
}

TEST_CASE("a condition that nothing needs, or that does not help, is not accepted") {
  const auto holds = verdict(Outcome::kHolds), refuted = verdict(Outcome::kRefuted);
  CHECK(holds_under("", holds, holds).outcome == Outcome::kUndecided);
  CHECK(holds_under("", holds, verdict(Outcome::kUndecided)).outcome == Outcome::kUndecided);
  CHECK(holds_under("", refuted, refuted).outcome == Outcome::kRefuted);
  CHECK(holds_under("", verdict(Outcome::kUndecided), refuted).outcome == Outcome::kUndecided);
}

TEST_CASE("a condition that was tried on one side only leaves the verdict open") {
  BothSides sides;
  sides.see(true);
  CHECK(sides.demand(verdict(Outcome::kHolds)).outcome == Outcome::kUndecided);
  CHECK(sides.demand(verdict(Outcome::kRefuted)).outcome == Outcome::kRefuted);
  sides.see(false);
  CHECK(sides.demand(verdict(Outcome::kHolds)).outcome == Outcome::kHolds);
}
