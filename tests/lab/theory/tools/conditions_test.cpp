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

Verdict verdict_of(const ConditionTally& tally) {
  return tally.verdict("left", "right", "exact");
}

auto witness_of(const char* text) {
  return [text] { return Witness{text, 1, 0}; };
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

TEST_CASE("a condition holds when both of its sides occurred, and shows the first of each") {
  ConditionTally tally;
  tally.record(true, true, witness_of("first yes"));
  tally.record(true, true, witness_of("second yes"));
  CHECK(verdict_of(tally).outcome == Outcome::kUndecided);
  tally.record(false, false, witness_of("first no"));
  const auto found = verdict_of(tally);
  CHECK(found.outcome == Outcome::kHolds);
  CHECK(found.cases == 3);
  CHECK(found.witness == "so: first yes | not so: first no");
}

TEST_CASE("one mismatch refutes a condition, and silence counts for nothing") {
  ConditionTally tally;
  tally.record(false, std::nullopt, witness_of("silent"));
  CHECK(verdict_of(tally).cases == 0);
  tally.record(true, false, witness_of("mismatch"));
  const auto found = verdict_of(tally);
  CHECK(found.outcome == Outcome::kRefuted);
  CHECK(found.witness == "mismatch");
}

TEST_CASE("an exact condition makes a statement hold under it, and a corrected one hold") {
  Verdict verdict;
  verdict.outcome = Outcome::kHolds;
  verdict.witness = "both sides";
  CHECK(holds_exactly_under("when", verdict).outcome == Outcome::kHoldsUnder);
  CHECK(holds_exactly_under("when", verdict).condition == "when");
  CHECK(holds_exactly_under("when", verdict).witness == "both sides");
  CHECK(proven(verdict).witness.empty());
  verdict.outcome = Outcome::kRefuted;
  CHECK(holds_exactly_under("when", verdict).outcome == Outcome::kRefuted);
  CHECK(proven(verdict).witness == "both sides");
}
