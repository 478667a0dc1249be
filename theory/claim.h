// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/study/definition.h"
#include "lab/study/regime.h"
#include "lab/study/run_ends.h"
#include "lab/study/verdict.h"

namespace kappascope::theory {

using study::Outcome;
using study::to_string;
using study::Verdict;

struct CheckContext {
  std::uint64_t seed = 1;
  std::optional<std::filesystem::path> run{};  ///< for claims decided on a stored run
};

/// The ended runs of a study of experiments/, for claims about whole trainings.
struct StudyRuns {
  std::string name;
  std::vector<study::RunEnd> runs;
  std::vector<study::Regime> regimes{};  ///< of the claim; runs outside decide nothing
};

enum class Standing {
  kPublished,  ///< a statement of a document
  kNote,       ///< one too, whose outcome turns on wording or on a degenerate case
  kOurs,       ///< a corrected statement, or one beside the documents
};

/// One statement of the four documents, as data and a check.
struct Claim {
  std::string id;         ///< "P-L2a"; a corrected statement has a prime: "P-L2a'"
  std::string source;     ///< document and place: "Post-gating bias, Lemma 2"
  std::string statement;  ///< as published, in our words and symbols
  std::string assumptions;
  std::string derivation;  ///< how it is decided, in short
  /// kOurs is set for every claim whose source says "ours" or "corrects".
  Standing standing = Standing::kPublished;
  std::string quote{};  ///< the document's words, at most fifteen; empty for ours
  std::string code{};   ///< the file of its family
  std::string open{};   ///< what would decide it, where no check and no study here does
  bool needs_run = false;
  /// The studies in experiments/ that measure it, for a statement about trainings. Such a claim has
  /// a check of its own only where a part of it can be decided without them.
  std::vector<std::string> studies{};
  std::function<Verdict(const CheckContext&)> check{};
  std::function<Verdict(const StudyRuns&)> measure{};  ///< there exactly when `studies` are

  [[nodiscard]] bool decidable(const CheckContext& context) const {
    return check && (!needs_run || context.run.has_value());
  }
};

/// Every claim, in the order of the documents.
const std::vector<Claim>& all_claims();

/// The claim of that id; nullptr when there is none.
const Claim* find_claim(const std::string& id);

/// A study's verdict, its route "study" and its condition never empty, on the conditions that reach
/// the claim's regimes; "regime not reached" where none does. Throws UsageError when the
/// study does not measure the claim.
Verdict measure(const Claim& claim, const StudyRuns& study);

/// The verdict with the texts of its claim, for what stores or draws it.
study::ClaimVerdict claim_verdict(const Claim& claim, const Verdict& verdict);

std::string verdict_json(const Claim& claim, const Verdict& verdict);

/// Throws UsageError when a claim of the study does not exist, or is not measured by a study of its
/// name.
void check_claims(const study::StudyDefinition& definition);

/// The claims of a study, each decided on these runs (study::DecideClaims).
std::vector<study::ClaimVerdict> decide_claims(const study::StudyDefinition& definition,
                                               const std::vector<study::RunEnd>& runs);

}  // namespace kappascope::theory
