// SPDX-License-Identifier: Apache-2.0
#include "theory/claim.h"

namespace kappascope::theory {

study::ClaimVerdict claim_verdict(const Claim& claim, const Verdict& verdict) {
  return {.claim = claim.id,
          .source = claim.source,
          .statement = claim.statement,
          .assumptions = claim.assumptions,
          .derivation = claim.derivation,
          .verdict = verdict};
}

std::string verdict_json(const Claim& claim, const Verdict& verdict) {
  return study::verdict_json(claim_verdict(claim, verdict));
}

}  // namespace kappascope::theory
