// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/condition_tally.h"

#include <utility>

namespace kappascope::theory {

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

Verdict holds_under(Verdict verdict, std::string condition) {
  if (verdict.outcome == Outcome::kHolds) verdict.outcome = Outcome::kHoldsUnder;
  verdict.condition = std::move(condition);
  return verdict;
}

Verdict proven(Verdict verdict) {
  if (verdict.outcome == Outcome::kHolds) verdict.witness.clear();
  return verdict;
}

}  // namespace kappascope::theory
