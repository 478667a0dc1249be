// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "kappascope/core/require.h"
#include "kappascope/core/time.h"
#include "kappascope/theory/claim.h"
#include "theory/families/families.h"

namespace kappascope::theory {
namespace {

/// Refuses to decide a measured claim without a run, notes seed and time, and marks what is ours.
Claim with_bookkeeping(Claim claim) {
  if (claim.source.starts_with("ours") || claim.source.starts_with("corrects ")) {
    claim.standing = Standing::kOurs;
  }
  if (!claim.check) return claim;
  claim.check = [id = claim.id, needs_run = claim.needs_run, check = std::move(claim.check)](
                    const CheckContext& context) {
    require(!needs_run || context.run.has_value(),
            "claim {} is decided on a stored run, and none was given",
            id);
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
  for (auto* family : {&dichotomy_claims,
                       &offsets_claims,
                       &offset_routes_claims,
                       &proposition1_claims,
                       &descent_claims,
                       &variance_control_claims,
                       &lemma2_claims,
                       &centring_claims,
                       &bias_redundancy_claims,
                       &asger_claims,
                       &asger_results_claims,
                       &isotropy_claims,
                       &costs_claims,
                       &study_claims,
                       &open_claims}) {
    for (auto& claim : family()) claims.push_back(with_bookkeeping(std::move(claim)));
  }
  return claims;
}

}  // namespace

const std::vector<Claim>& all_claims() {
  static const std::vector<Claim> claims = gather();
  return claims;
}

const Claim* find_claim(const std::string& id) {
  const auto found = std::ranges::find(all_claims(), id, &Claim::id);
  return found == all_claims().end() ? nullptr : &*found;
}

Verdict measure(const Claim& claim, const StudyRuns& study) {
  if (std::ranges::find(claim.studies, study.name) == claim.studies.end()) {
    throw UsageError(fmt::format("{} is not measured by study {}{}",
                                 claim.id,
                                 study.name,
                                 claim.studies.empty()
                                     ? "; it is decided by `kappascope verify`"
                                     : fmt::format(", but by {}", fmt::join(claim.studies, ", "))));
  }
  const double start = monotonic_seconds();
  auto verdict = claim.measure(study);
  verdict.seconds = monotonic_seconds() - start;
  return verdict;
}

}  // namespace kappascope::theory
