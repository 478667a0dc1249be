// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/require.h"
#include "core/time.h"
#include "theory/claim.h"
#include "theory/documents/documents.h"
#include "theory/families/families.h"

namespace kappascope::theory {
namespace {

/// Refuses to decide a measured claim without a run, and notes seed, time and support.
Claim with_bookkeeping(Claim claim, const std::string& family) {
  if (claim.source.starts_with("ours") || claim.source.starts_with("corrects ")) {
    claim.standing = Standing::kOurs;
  }
  claim.quote = quote_of(claim.id);
  claim.code = "theory/families/" + family + ".cpp";
  if (!claim.check) return claim;
  claim.check = [id = claim.id, needs_run = claim.needs_run, check = std::move(claim.check)](
                    const CheckContext& context) {
    require(!needs_run || context.run.has_value(),
            "claim {} is decided on a stored run, and none was given",
            id);
    const double start = monotonic_seconds();
    auto verdict = check(context);
    verdict.proof = proof_of(id);
    verdict.sizes = study::to_string(verdict.extents);
    verdict.seed = context.seed;
    verdict.seconds = monotonic_seconds() - start;
    return verdict;
  };
  return claim;
}

struct Family {
  const char* name;
  std::vector<Claim> (*claims)();
};

std::vector<Claim> gather() {
  std::vector<Claim> claims;
  for (const auto& family : {Family{"dichotomy", &dichotomy_claims},
                             Family{"offsets", &offsets_claims},
                             Family{"offset_routes", &offset_routes_claims},
                             Family{"proposition1", &proposition1_claims},
                             Family{"real_features", &real_features_claims},
                             Family{"descent", &descent_claims},
                             Family{"variance_control", &variance_control_claims},
                             Family{"lemma2", &lemma2_claims},
                             Family{"centring", &centring_claims},
                             Family{"bias_redundancy", &bias_redundancy_claims},
                             Family{"asger", &asger_claims},
                             Family{"asger_results", &asger_results_claims},
                             Family{"isotropy", &isotropy_claims},
                             Family{"costs", &costs_claims},
                             Family{"studies", &study_claims},
                             Family{"layer_studies", &layer_study_claims},
                             Family{"edge_of_stability", &edge_claims},
                             Family{"open/open", &open_claims}}) {
    for (auto& claim : family.claims()) {
      claims.push_back(with_bookkeeping(std::move(claim), family.name));
    }
  }
  return claims;
}

std::string listed(const std::vector<study::Regime>& regimes) {
  std::vector<std::string> words(regimes.size());
  std::ranges::transform(
      regimes, words.begin(), [](const auto& regime) { return to_string(regime); });
  return fmt::format("{}", fmt::join(words, " and "));
}

/// On the runs of the conditions whose control shows what the document's does.
Verdict measure_in_regime(const Claim& claim, const StudyRuns& study) {
  if (study.regimes.empty() || study.runs.empty()) return claim.measure(study);
  auto inside = study::in_regime(study.runs, study.regimes);
  if (inside.reached.empty()) {
    Verdict verdict;
    verdict.outcome = Outcome::kNoRegime;
    verdict.route = "study";
    verdict.condition = fmt::format("the document's control has {}, and here {}",
                                    listed(study.regimes),
                                    fmt::join(inside.missed, "; "));
    return verdict;
  }
  auto verdict = claim.measure({study.name, std::move(inside.runs)});
  verdict.condition += fmt::format("; regime: {}", listed(study.regimes));
  if (!inside.missed.empty())
    verdict.condition += fmt::format(", left out because {}", fmt::join(inside.missed, "; "));
  return verdict;
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
  auto verdict = measure_in_regime(claim, study);
  verdict.seconds = monotonic_seconds() - start;
  return verdict;
}

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

void check_claims(const study::StudyDefinition& definition) {
  for (const auto& id : definition.claims) {
    const auto* claim = find_claim(id);
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
                                               const std::vector<study::RunEnd>& runs) {
  std::vector<study::ClaimVerdict> verdicts;
  for (const auto& id : definition.claims) {
    const auto* claim = find_claim(id);
    const StudyRuns of_claim{definition.name, runs, study::regimes_of(definition, id)};
    verdicts.push_back(claim_verdict(*claim, measure(*claim, of_claim)));
  }
  return verdicts;
}

}  // namespace kappascope::theory
