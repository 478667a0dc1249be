// SPDX-License-Identifier: Apache-2.0
#include "kappascope/theory/ledger.h"

#include <fmt/format.h>

namespace kappascope::theory {
namespace {

/// A bar would end the cell.
std::string cell(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '|') out += '\\';
    out += letter;
  }
  return out;
}

std::string waits_for(const Claim& claim) {
  return claim.needs_run ? "measured on a run: `kappascope verify --run RUN`"
                         : "measured, study " + claim.study;
}

}  // namespace

std::string ledger_markdown(const std::vector<LedgerEntry>& entries) {
  std::string out =
      "| claim | statement | outcome | condition |\n"
      "|---|---|---|---|\n";
  for (const auto& [claim, verdict] : entries) {
    const std::string outcome = verdict ? to_string(verdict->outcome) : waits_for(claim);
    out += fmt::format("| {} | {} | {} | {} |\n",
                       claim.id,
                       cell(claim.statement),
                       outcome,
                       verdict ? cell(verdict->condition) : "");
  }
  return out;
}

}  // namespace kappascope::theory
