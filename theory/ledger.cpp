// SPDX-License-Identifier: Apache-2.0
#include "kappascope/theory/ledger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "kappascope/core/markdown.h"

namespace kappascope::theory {
namespace {

/// By computation, and then by each study.
std::string outcome_of(const LedgerEntry& entry) {
  std::vector<std::string> parts;
  if (entry.verdict) {
    parts.emplace_back(to_string(entry.verdict->outcome));
  } else if (entry.claim.needs_run) {
    parts.emplace_back("measured on a run: `kappascope verify --run RUN`");
  }
  for (const auto& study : entry.claim.studies) {
    const auto found = std::ranges::find(entry.studies, study, &StudyVerdict::study);
    const bool known = found != entry.studies.end();
    parts.push_back(fmt::format("study {}: {}", study, known ? found->outcome : "not run"));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string ledger_markdown(const std::vector<LedgerEntry>& entries) {
  std::string out =
      "| claim | statement | outcome | condition |\n"
      "|---|---|---|---|\n";
  for (const auto& entry : entries) {
    out += fmt::format("| {} | {} | {} | {} |\n",
                       entry.claim.id,
                       markdown_cell(entry.claim.statement),
                       outcome_of(entry),
                       entry.verdict ? markdown_cell(entry.verdict->condition) : "");
  }
  return out;
}

}  // namespace kappascope::theory
