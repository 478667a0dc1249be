// SPDX-License-Identifier: Apache-2.0
#include "theory/ledger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/markdown.h"
#include "theory/documents/documents.h"
#include "theory/tools/sides.h"

namespace kappascope::theory {
namespace {

using Entries = std::vector<LedgerEntry>;

constexpr const char* kNotation =
    "## Notation\n\n"
    "| symbol | what |\n|---|---|\n"
    "| φ, S, M | features that enter the down-projection; before dropout; the dropout mask |\n"
    "| μ, Σ | mean and covariance of φ; in Lemma 2 μ and σ² of one feature of S |\n"
    "| p | the probability that the mask keeps a feature |\n"
    "| b, b* | post-gating bias in Z = (φ + b)W_d; the best one |\n"
    "| c | output bias in Z = φW + c; also an offset that is added |\n"
    "| W_u, W_g, W_d | up, gate and down projection; u, g one column of the first two |\n"
    "| κ | λmax/λmin of a symmetric matrix, σ1/σ_r of any other |\n"
    "| Δ, Δ* | a change of weights; the one that the document names |\n"
    "| γ, r, g | loss gradient at the output; r = uᵀγ; g = yr, the gradient, y the regressor |\n"
    "| T, R | target; residual |\n"
    "| A⁺ | pseudoinverse |\n"
    "| β, γ (norms) | shift and gain of a normalisation; α, β of ASGER: range and slope |\n"
    "| prime | a corrected statement: P-L2a' corrects P-L2a |\n\n";

/// By computation, and then by each study.
std::string outcome_of(const LedgerEntry& entry) {
  std::vector<std::string> parts;
  if (entry.verdict) {
    parts.emplace_back(to_string(entry.verdict->outcome));
  } else if (entry.claim.needs_run) {
    parts.emplace_back("measured on a run: `kappascope verify --run RUN`");
  } else if (!entry.claim.open.empty()) {
    parts.emplace_back(to_string(Outcome::kUndecided));
  }
  for (const auto& study : entry.claim.studies) {
    const auto found = std::ranges::find(entry.studies, study, &study::ClaimVerdict::study);
    const bool known = found != entry.studies.end();
    parts.push_back(
        fmt::format("study {}: {}", study, known ? to_string(found->verdict.outcome) : "not run"));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string condition_of(const LedgerEntry& entry) {
  if (entry.verdict) return markdown_cell(entry.verdict->condition);
  return entry.claim.open.empty() ? "" : "would decide it: " + markdown_cell(entry.claim.open);
}

/// The route, with "proved" or "searched" before it where something holds.
std::string route_of(const Verdict& verdict) {
  auto evidence = study::evidence_of(verdict);
  evidence.cases.clear();
  return markdown_cell(store::how_sure(evidence));
}

/// What was found against what was stated, where the two differ.
std::string number_of(const Verdict& verdict) {
  const bool differ = verdict.outcome == Outcome::kRefuted || verdict.outcome == Outcome::kMeasured;
  if (!differ) return "";
  return markdown_cell(sides(verdict, 3));
}

std::string row_of(const LedgerEntry& entry) {
  const auto& claim = entry.claim;
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                     claim.id,
                     markdown_cell(claim.statement),
                     markdown_cell(claim.assumptions),
                     outcome_of(entry),
                     condition_of(entry),
                     markdown_cell(claim.source),
                     entry.verdict ? route_of(*entry.verdict) : "",
                     entry.verdict ? fmt::format("{}", entry.verdict->cases) : "",
                     entry.verdict ? number_of(*entry.verdict) : "");
}

std::string table_of(const Entries& entries, Standing standing, const std::string& head) {
  std::string rows;
  for (const auto& entry : entries) {
    if (entry.claim.standing == standing) rows += row_of(entry);
  }
  if (rows.empty()) return "";
  return head +
         "\n| claim | statement | assumes | outcome | condition | source | route | cases | number "
         "|\n"
         "|---|---|---|---|---|---|---|---|---|\n" +
         rows + "\n";
}

const LedgerEntry* find(const Entries& entries, const std::string& id) {
  const auto found =
      std::ranges::find(entries, id, [](const LedgerEntry& entry) { return entry.claim.id; });
  return found == entries.end() ? nullptr : &*found;
}

/// The findings whose claim is among the entries.
std::string ten_findings(const Entries& entries) {
  std::string out;
  int number = 0;
  for (const auto& finding : findings()) {
    const auto *entry = find(entries, finding.claim),
               *corrected = find(entries, finding.claim + "'");
    if (entry == nullptr || !entry->verdict || corrected == nullptr) continue;
    out += fmt::format("### {}. {}\n\n", ++number, finding.place);
    out += fmt::format("- Claimed: “{}” ({}).\n", entry->claim.quote, entry->claim.id);
    out += fmt::format("- Verdict: {}.\n", to_string(entry->verdict->outcome));
    out += "- Witness:\n";
    for (const auto& line : finding.witness().lines) out += "  - " + line + "\n";
    out += fmt::format("- Corrected ({}): {}\n", corrected->claim.id, corrected->claim.statement);
    out += fmt::format("- For someone who trains: {}\n\n", finding.meaning);
  }
  return out.empty() ? "" : "## Ten findings\n\n" + out;
}

}  // namespace

std::string ledger_markdown(const Entries& entries) {
  return ten_findings(entries) + kNotation +
         table_of(entries, Standing::kPublished, "## Published statements\n") +
         table_of(entries,
                  Standing::kNote,
                  "## Notes\n\nPublished too; the outcome turns on wording or on a degenerate "
                  "case.\n") +
         table_of(entries,
                  Standing::kOurs,
                  "## Ours\n\nCorrected statements, and what stands beside the documents.\n");
}

}  // namespace kappascope::theory
