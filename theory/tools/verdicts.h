// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "kappascope/theory/claim.h"

/// What a claim adds to the verdict of its check.
namespace kappascope::theory {

/// The verdict with the condition that its corrected claim proves.
inline Verdict under(Verdict verdict, std::string condition) {
  verdict.condition = std::move(condition);
  return verdict;
}

/// A condition is shown only where cases on both sides of it occurred.
inline Verdict shown_on_both_sides(Verdict verdict, bool seen_true, bool seen_false) {
  if (verdict.outcome == Outcome::kHolds && !(seen_true && seen_false)) {
    verdict.outcome = Outcome::kUndecided;
  }
  return verdict;
}

}  // namespace kappascope::theory
