// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/condition_tally.h"

#include "support/catch.h"

using namespace kappascope::theory;

namespace {

Verdict verdict(const ConditionTally& tally) {
  return tally.verdict("left", "right", "exact");
}

auto witness(const char* text) {
  return [text] { return Witness{text, 1, 0}; };
}

}  // namespace

TEST_CASE("a condition holds when both of its sides occurred, and shows the first of each") {
  ConditionTally tally;
  tally.record(true, true, witness("first yes"));
  tally.record(true, true, witness("second yes"));
  CHECK(verdict(tally).outcome == Outcome::kUndecided);
  tally.record(false, false, witness("first no"));
  const auto found = verdict(tally);
  CHECK(found.outcome == Outcome::kHolds);
  CHECK(found.cases == 3);
  CHECK(found.witness == "so: first yes | not so: first no");
}

TEST_CASE("one mismatch refutes a condition, and silence counts for nothing") {
  ConditionTally tally;
  tally.record(false, std::nullopt, witness("silent"));
  CHECK(verdict(tally).cases == 0);
  tally.record(true, false, witness("mismatch"));
  const auto found = verdict(tally);
  CHECK(found.outcome == Outcome::kRefuted);
  CHECK(found.witness == "mismatch");
}

TEST_CASE("an exact condition makes a statement hold under it, and a corrected one hold") {
  Verdict verdict;
  verdict.outcome = Outcome::kHolds;
  verdict.witness = "both sides";
  CHECK(holds_under(verdict, "when").outcome == Outcome::kHoldsUnder);
  CHECK(holds_under(verdict, "when").condition == "when");
  CHECK(holds_under(verdict, "when").witness == "both sides");
  CHECK(proven(verdict).witness.empty());
  verdict.outcome = Outcome::kRefuted;
  CHECK(holds_under(verdict, "when").outcome == Outcome::kRefuted);
  CHECK(proven(verdict).witness == "both sides");
}
