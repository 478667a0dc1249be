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

}  // namespace

std::string ledger_markdown(const std::vector<LedgerEntry>& entries) {
  std::string out =
      "| claim | statement | outcome | condition |\n"
      "|---|---|---|---|\n";
  for (const auto& [claim, verdict] : entries) {
    const std::string outcome =
        verdict ? to_string(verdict->outcome) : "measured on a run: `kappascope verify --run RUN`";
    out += fmt::format("| {} | {} | {} | {} |\n",
                       claim.id,
                       cell(claim.statement),
                       outcome,
                       verdict ? cell(verdict->condition) : "");
  }
  return out;
}

}  // namespace kappascope::theory
