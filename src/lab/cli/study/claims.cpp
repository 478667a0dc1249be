// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/study/claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kappascope/core/error.h"
#include "theory/claim.h"

namespace kappascope::cli {

void check_claims(const study::StudyDefinition& definition) {
  for (const auto& id : definition.claims) {
    const auto* claim = theory::find_claim(id);
    if (claim == nullptr) {
      throw UsageError(fmt::format(
          "{}: no claim is called {}; kappascope verify --list shows them", definition.name, id));
    }
    const auto& studies = claim->studies;
    if (std::ranges::find(studies, definition.name) == studies.end()) {
      throw UsageError(fmt::format(
          "{}: {} is not decided by a study of this name, but by {}; remove it from "
          "study.claims",
          definition.name,
          id,
          studies.empty() ? "kappascope verify" : fmt::format("{}", fmt::join(studies, ", "))));
    }
  }
}

std::vector<study::ClaimVerdict> decide_claims(const study::StudyDefinition& definition,
                                               const std::vector<study::RunEnd>& runs,
                                               study::Family& family) {
  const auto decide = [&] {
    std::vector<study::ClaimVerdict> verdicts;
    for (const auto& id : definition.claims) {
      const auto* claim = theory::find_claim(id);
      const theory::StudyRuns of_claim{
          definition.name, runs, &family, study::regimes_of(definition, id)};
      verdicts.push_back(theory::claim_verdict(*claim, theory::measure(*claim, of_claim)));
    }
    return verdicts;
  };
  decide();  // what every claim compares joins the family before any is judged
  return decide();
}

}  // namespace kappascope::cli
