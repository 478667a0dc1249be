// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/store/study/run_ends.h"

namespace kappascope::theory {

enum class Outcome { kHolds, kHoldsUnder, kRefuted, kMeasured, kUndecided };
const char* to_string(Outcome outcome);

/// What a check found, with evidence anyone can recompute.
struct Verdict {
  Outcome outcome = Outcome::kUndecided;
  std::string
      condition;  ///< for kHoldsUnder: the condition, necessary and sufficient where one exists
  std::string left, right;  ///< what the two numbers are, in words or symbols
  double measured = 0, predicted = 0;
  std::optional<double> lower, upper;  ///< interval of `measured`, where it is statistical
  double margin =
      0;  ///< largest relative deviation (holds), or gap of the witness (refuted, measured)
  double tolerance = 0;  ///< what margin may reach in a search in floating point; 0: exact only
  std::int64_t cases = 0;
  std::uint64_t seed = 0;
  std::string witness;  ///< numbers small enough to check by hand; empty when it holds
  std::string route;    ///< "exact" | "search" | "Monte Carlo" | "measured run" | "study"
  double seconds = 0;
};

struct CheckContext {
  std::uint64_t seed = 1;
  std::optional<std::filesystem::path> run{};  ///< for claims decided on a stored run
};

/// The ended runs of a study of experiments/, for claims about whole trainings.
struct StudyRuns {
  std::string name;
  std::vector<store::RunEnd> runs;
};

/// One statement of the four documents, as data and a check.
struct Claim {
  std::string id;         ///< "P-L2a"; a corrected statement has a prime: "P-L2a'"
  std::string source;     ///< document and place: "Post-gating bias, Lemma 2"
  std::string statement;  ///< as published, in our words and symbols
  std::string assumptions;
  std::string derivation;  ///< how it is decided, in short
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

/// A study's verdict, its route "study" and its condition never empty. Throws UsageError when the
/// study does not measure the claim.
Verdict measure(const Claim& claim, const StudyRuns& study);

std::string verdict_json(const Claim& claim, const Verdict& verdict);

}  // namespace kappascope::theory
