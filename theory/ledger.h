// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "theory/claim.h"

namespace kappascope::theory {

/// One line of the ledger; without a verdict the claim waits for a run or for its studies.
struct LedgerEntry {
  Claim claim;
  std::optional<Verdict> verdict{};
  std::vector<study::ClaimVerdict> studies{};  ///< as studied() has them
};

/// The ledger as Markdown: the ten findings with their witnesses worked out, the notation, then a
/// table each of published statements, of notes and of what is ours. It holds nothing that depends
/// on the machine or the time; cases and measured numbers are those of the verdicts' seed. What
/// studies found has its numbers in experiments/RESULTS.md.
std::string ledger_markdown(const std::vector<LedgerEntry>& entries);

}  // namespace kappascope::theory
