// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/store/record.h"
#include "store/evidence.h"

namespace kappascope::study {

enum class Outcome {
  kHolds,
  kHoldsUnder,
  kRefuted,
  kMeasured,
  kTooFewRuns,  ///< of a study: a difference that matters would not have been found
  kNoRegime,    ///< of a study: its control does not show what the document's does
  kUndecided,   ///< nothing here decides it
};

/// "holds", "holds under a condition", "refuted", "measured", "too few runs", "regime not reached",
/// "undecided": as it is stored, printed and drawn everywhere.
const char* to_string(Outcome outcome);

/// From where to where a size of the cases of a search went.
struct Extent {
  std::string name{};
  std::int64_t least = 0, most = 0;
};
/// Takes one more into the list: the extent of its name grows, or it is added.
void widen(std::vector<Extent>& extents, const Extent& other);
/// "d = 1 to 5, tokens = 3".
std::string to_string(const std::vector<Extent>& extents);

/// The decision on one claim, with evidence that anyone can recompute.
struct Verdict {
  Outcome outcome = Outcome::kUndecided;
  /// For kHoldsUnder: the condition, necessary and sufficient where one exists.
  std::string condition;
  std::string left, right;  ///< what the two numbers are, in words or symbols
  double measured = 0, predicted = 0;
  std::optional<double> lower, upper;  ///< interval of `measured`, where it is statistical
  /// Of a study: the p-value on which the outcome rests, or which was too large for one.
  std::optional<double> p{};
  /// p adjusted for all verdicts that stand beside it (control_false_discovery).
  std::optional<double> q{};
  /// Largest relative deviation (holds), or gap of the witness (refuted, measured).
  double margin = 0;
  double tolerance = 0;  ///< what margin may reach in a search in floating point; 0: exact only
  std::int64_t cases = 0;
  std::uint64_t seed = 0;
  std::string witness;  ///< numbers small enough to check by hand; empty when it holds
  std::string route;    ///< "exact" | "search" | "Monte Carlo" | "measured run" | "study"
  std::string proof{};  ///< where what holds is proved: "theory/PROOFS.md 4"; empty: searched
  std::vector<Extent> extents{};  ///< of the sizes of the cases that a search compared
  std::string sizes{};            ///< the same in words
  double seconds = 0;
};

/// On what the verdict rests, for store::how_sure().
store::Evidence evidence_of(const Verdict& verdict);

/// A verdict with the texts of its claim: everything that a reader of a result needs.
struct ClaimVerdict {
  std::string claim{};  ///< its id: "P-X3"
  std::string source{}, statement{}, assumptions{}, derivation{};
  Verdict verdict{};
  std::string study{};  ///< the study that decided it; empty where none did
};

/// One JSON object: the texts of the claim, then the evidence. NaN becomes null, an infinity the
/// word "inf" or "-inf".
std::string verdict_json(const ClaimVerdict& verdict);

/// As a run store keeps it: claim, outcome and condition as columns, the whole as JSON.
store::VerdictRow verdict_row(const ClaimVerdict& verdict);

}  // namespace kappascope::study
