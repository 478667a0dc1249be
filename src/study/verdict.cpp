// SPDX-License-Identifier: Apache-2.0
#include "kappascope/study/verdict.h"

#include <string>

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
    case Outcome::kTooFewRuns:
      return "too few runs";
    case Outcome::kNoRegime:
      return "regime not reached";
    case Outcome::kUndecided:
      return "undecided";
  }
  return "?";
}

std::string how_sure(const Evidence& evidence) {
  if (evidence.route.empty()) return "";
  std::string cases = evidence.route;
  if (!evidence.cases.empty()) cases += ", " + evidence.cases + " cases";
  if (!evidence.sizes.empty()) cases += ", " + evidence.sizes;
  const bool holds = evidence.outcome == to_string(Outcome::kHolds) ||
                     evidence.outcome == to_string(Outcome::kHoldsUnder);
  if (holds && evidence.route != "study") {
    if (evidence.proof.empty()) return "searched: " + cases;
    return "proved (" + evidence.proof + "); " + cases;
  }
  const bool named = cases.find("witness") != std::string::npos;
  if (evidence.outcome == to_string(Outcome::kRefuted) && !named) return "witness: " + cases;
  return cases;
}

Evidence evidence_of(const Verdict& verdict) {
  return {.outcome = to_string(verdict.outcome),
          .proof = verdict.proof,
          .sizes = verdict.sizes,
          .route = verdict.route,
          .cases = std::to_string(verdict.cases)};
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
