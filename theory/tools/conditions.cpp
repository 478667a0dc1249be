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
  if (within.outcome == Outcome::kHolds) {
    within.outcome =
        outside.outcome == Outcome::kRefuted ? Outcome::kHoldsUnder : Outcome::kUndecided;
    within.witness = outside.witness;
  }
  return with_condition(std::move(within), std::move(condition));
}

Verdict BothSides::demand(Verdict verdict) const {
  if (verdict.outcome == Outcome::kHolds && !(yes_ && no_)) verdict.outcome = Outcome::kUndecided;
  return verdict;
}

}  // namespace kappascope::theory
