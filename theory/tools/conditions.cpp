// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/conditions.h"

#include <utility>

namespace kappascope::theory {

Verdict with_condition(Verdict verdict, std::string condition) {
  verdict.condition = std::move(condition);
  return verdict;
}

Verdict holds_under(std::string condition, Verdict within, const Verdict& outside) {
  within.cases += outside.cases;
  for (const auto& extent : outside.extents) study::widen(within.extents, extent);
  if (within.outcome == Outcome::kHolds) {
    within.outcome =
        outside.outcome == Outcome::kRefuted ? Outcome::kHoldsUnder : Outcome::kUndecided;
    within.witness = outside.witness;
  }
  return with_condition(std::move(within), std::move(condition));
}

Verdict holds_exactly_under(std::string condition, Verdict found) {
  if (found.outcome == Outcome::kHolds) found.outcome = Outcome::kHoldsUnder;
  return with_condition(std::move(found), std::move(condition));
}

Verdict proven(Verdict found) {
  if (found.outcome == Outcome::kHolds) found.witness.clear();
  return found;
}

Verdict BothSides::demand(Verdict verdict) const {
  if (verdict.outcome == Outcome::kHolds && !(yes_ && no_)) verdict.outcome = Outcome::kUndecided;
  return verdict;
}

Verdict ConditionTally::verdict(std::string left, std::string right, std::string route) const {
  auto verdict = tally_.verdict(std::move(left), std::move(right), std::move(route));
  if (verdict.outcome != Outcome::kHolds) return verdict;
  if (shown_yes_.empty() || shown_no_.empty()) {
    verdict.outcome = Outcome::kUndecided;
    return verdict;
  }
  verdict.witness = "so: " + shown_yes_ + " | not so: " + shown_no_;
  return verdict;
}

}  // namespace kappascope::theory
