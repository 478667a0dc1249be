// SPDX-License-Identifier: Apache-2.0
#include "kappascope/study/verdict.h"

#include "study/json.h"

namespace kappascope::study {

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHolds:
      return "holds";
    case Outcome::kHoldsUnder:
      return "holds under a condition";
    case Outcome::kRefuted:
      return "refuted";
    case Outcome::kMeasured:
      return "measured";
    case Outcome::kUndecided:
      return "undecided";
  }
  return "?";
}

std::string verdict_json(const ClaimVerdict& verdict) {
  return json_of(verdict).dump();
}

store::VerdictRow verdict_row(const ClaimVerdict& verdict) {
  return {verdict.claim,
          to_string(verdict.verdict.outcome),
          verdict.verdict.condition,
          verdict_json(verdict)};
}

}  // namespace kappascope::study
