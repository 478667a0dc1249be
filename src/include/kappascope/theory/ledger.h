// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kappascope/theory/claim.h"

namespace kappascope::theory {

/// What a study found of a claim.
struct StudyVerdict {
  std::string study, outcome;
};

/// One line of the ledger; without a verdict the claim waits for a run or for its studies.
struct LedgerEntry {
  Claim claim;
  std::optional<Verdict> verdict{};
  std::vector<StudyVerdict> studies{};
};

/// The ledger as a Markdown table: claim, statement, outcome, condition. It holds nothing that
/// depends on the seed, the machine or the time; what studies found has its numbers in
/// experiments/RESULTS.md.
std::string ledger_markdown(const std::vector<LedgerEntry>& entries);

}  // namespace kappascope::theory
