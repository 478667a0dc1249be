// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "kappascope/core/error.h"
#include "kappascope/core/time.h"
#include "kappascope/theory/claim.h"
#include "theory/families/families.h"

namespace kappascope::theory {
namespace {

/// Refuses to decide a measured claim without a run, and notes seed and time.
Claim with_bookkeeping(Claim claim) {
  if (!claim.check) return claim;
  claim.check = [id = claim.id, needs_run = claim.needs_run, check = std::move(claim.check)](
                    const CheckContext& context) {
    require(!needs_run || context.run.has_value(),
            "claim ",
            id,
            " is decided on a stored run, and none was given");
    const double start = monotonic_seconds();
    auto verdict = check(context);
    verdict.seed = context.seed;
    verdict.seconds = monotonic_seconds() - start;
    return verdict;
  };
  return claim;
}

std::vector<Claim> gather() {
  std::vector<Claim> claims;
  for (auto* family : {&offsets_claims,
                       &offset_routes_claims,
                       &proposition1_claims,
                       &descent_claims,
                       &variance_control_claims,
                       &lemma2_claims,
                       &centring_claims,
                       &bias_redundancy_claims,
                       &asger_claims,
                       &isotropy_claims,
                       &study_claims}) {
    for (auto& claim : family()) claims.push_back(with_bookkeeping(std::move(claim)));
  }
  return claims;
}

}  // namespace

const std::vector<Claim>& all_claims() {
  static const std::vector<Claim> claims = gather();
  return claims;
}

}  // namespace kappascope::theory
