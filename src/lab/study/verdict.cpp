// SPDX-License-Identifier: Apache-2.0
#include "lab/study/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lab/study/json.h"

namespace kappascope::study {

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHolds:
      return store::kHolds;
    case Outcome::kHoldsUnder:
      return store::kHoldsUnder;
    case Outcome::kRefuted:
      return store::kRefuted;
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

void widen(std::vector<Extent>& extents, const Extent& other) {
  const auto found = std::ranges::find(extents, other.name, &Extent::name);
  if (found == extents.end()) {
    extents.push_back(other);
  } else {
    found->least = std::min(found->least, other.least);
    found->most = std::max(found->most, other.most);
  }
}

std::string to_string(const std::vector<Extent>& extents) {
  std::string text;
  for (const auto& [name, least, most] : extents) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, least);
    if (most != least) text += fmt::format(" to {}", most);
  }
  return text;
}

store::Evidence evidence_of(const Verdict& verdict) {
  return {.outcome = to_string(verdict.outcome),
          .proof = verdict.proof,
          .sizes = verdict.sizes,
          .route = verdict.route,
          .cases = std::to_string(verdict.cases)};
}

std::string verdict_json(const ClaimVerdict& verdict) {
  return json_of(verdict).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

store::VerdictRow verdict_row(const ClaimVerdict& verdict) {
  return {verdict.claim,
          to_string(verdict.verdict.outcome),
          verdict.verdict.condition,
          verdict_json(verdict)};
}

}  // namespace kappascope::study
