// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kappascope/theory/claim.h"

namespace kappascope::theory {

/// One line of the ledger; without a verdict the claim waits for a run.
struct LedgerEntry {
  Claim claim;
  std::optional<Verdict> verdict;
};

/// The ledger as a Markdown table: claim, statement, outcome, condition. It holds nothing that
/// depends on the seed, the machine or the time.
std::string ledger_markdown(const std::vector<LedgerEntry>& entries);

}  // namespace kappascope::theory
