// SPDX-License-Identifier: Apache-2.0
#include "theory/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "core/wrap.h"
#include "theory/documents/documents.h"
#include "theory/tools/sides.h"

namespace kappascope::theory {
namespace {

constexpr std::size_t kWidth = 96, kIndent = 14;

/// A label, and beside it the text, wrapped at blanks.
std::string paragraph(const std::string& label, const std::string& text) {
  if (text.empty()) return "";
  const std::string gap(kIndent - std::min(kIndent, characters(label)), ' ');
  return label + gap + wrapped(text, {.width = kWidth, .column = kIndent, .indent = kIndent});
}

std::string evidence(const Verdict& verdict) {
  auto text = store::how_sure(study::evidence_of(verdict));
  if (verdict.outcome == Outcome::kHolds || verdict.outcome == Outcome::kHoldsUnder) {
    text += verdict.tolerance > 0
                ? fmt::format("; largest deviation {:.2g} (rounding allows {:.2g})",
                              verdict.margin,
                              verdict.tolerance)
                : "; no deviation in exact arithmetic";
  }
  return text + fmt::format("; seed {}, {:.2g} s", verdict.seed, verdict.seconds);
}

std::string decided(const Verdict& verdict) {
  return paragraph("verdict", to_string(verdict.outcome)) +
         paragraph("condition", verdict.condition) + paragraph("numbers", sides(verdict, 8)) +
         paragraph("how sure", evidence(verdict)) + paragraph("witness", verdict.witness);
}

/// A witness as lines: parted at " | ", ": " and "; " outside brackets.
std::vector<std::string> steps_of(const std::string& witness) {
  std::vector<std::string> lines{""};
  int depth = 0;
  for (std::size_t i = 0; i < witness.size(); ++i) {
    const char c = witness[i];
    if (c == '[' || c == '(' || c == '{') ++depth;
    if (c == ']' || c == ')' || c == '}') --depth;
    const bool blank = i + 1 < witness.size() && witness[i + 1] == ' ';
    if (depth == 0 && blank && (c == ':' || c == ';')) {
      lines.emplace_back();
      ++i;
    } else if (witness.compare(i, 3, " | ") == 0) {
      lines.emplace_back();
      i += 2;
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

/// The lines under one label.
std::string listing(const std::string& label, const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += paragraph(out.empty() ? label : "", line);
  return out;
}

/// What studies found, an outcome each.
std::string outcomes(const std::vector<study::ClaimVerdict>& studied) {
  std::vector<std::string> parts;
  parts.reserve(studied.size());
  for (const auto& one : studied)
    parts.push_back(fmt::format("{} ({})", to_string(one.verdict.outcome), one.study));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The outcome as a sentence, with what is so instead or under which condition it is so.
std::string sentence(const Claim& claim,
                     const std::optional<Verdict>& verdict,
                     const std::vector<study::ClaimVerdict>& studied) {
  if (!verdict) {
    if (claim.needs_run) return "Not decided yet: kappascope verify --run RUN decides it on a run.";
    if (!claim.open.empty()) return "Undecided. It would take: " + claim.open + ".";
    if (studied.empty()) return "For studies to decide, which have not been run.";
    return "By studies: " + outcomes(studied) + ".";
  }
  const auto with = [&](const char* head, const char* between) {
    return verdict->condition.empty() ? std::string(head) + "."
                                      : std::string(head) + between + verdict->condition + ".";
  };
  switch (verdict->outcome) {
    case Outcome::kHolds:
      return with("Holds", ": ");
    case Outcome::kHoldsUnder:
      return with("Holds under a condition", ": ");
    case Outcome::kRefuted:
      return with("Refuted", ". What is true: ");
    case Outcome::kMeasured:
      return with("Measured", ": ");
    case Outcome::kTooFewRuns:
      return with("Too few runs", ": ");
    case Outcome::kNoRegime:
      return with("Regime not reached", ": ");
    case Outcome::kUndecided:
      return with("Undecided", ": ");
  }
  return "";
}

/// What one study found, with its numbers.
std::string of_study(const study::ClaimVerdict& one) {
  const auto& verdict = one.verdict;
  auto text = paragraph("study", one.study + ": " + to_string(verdict.outcome));
  if (!verdict.left.empty()) text += paragraph("  numbers", sides(verdict, 8));
  if (verdict.p) {
    text += paragraph("  chance",
                      fmt::format("p {:.2g}{}",
                                  *verdict.p,
                                  verdict.q ? fmt::format("; q {:.2g} over all claims", *verdict.q)
                                            : std::string()));
  }
  return text + paragraph("  in words", verdict.condition);
}

}  // namespace

std::string explain(const Claim& claim,
                    const std::optional<Verdict>& verdict,
                    const Claim* corrected,
                    const std::vector<study::ClaimVerdict>& studied) {
  const auto* finding = find_finding(claim.id);
  auto text = paragraph(claim.id, claim.source);
  if (!claim.quote.empty()) text += paragraph("claimed", "“" + claim.quote + "”");
  text += paragraph(claim.quote.empty() ? "stated" : "read as", claim.statement) +
          paragraph("given", claim.assumptions) +
          paragraph("verdict", sentence(claim, verdict, studied));
  if (finding != nullptr) {
    text += listing("witness", finding->witness().lines);
  } else if (verdict) {
    if (!verdict->witness.empty()) text += listing("witness", steps_of(verdict->witness));
  }
  if (verdict) text += paragraph("numbers", sides(*verdict, 8));
  text += paragraph("decided by", claim.derivation);
  if (corrected != nullptr) {
    text += paragraph("corrected", corrected->id + ": " + corrected->statement) +
            paragraph("because", corrected->derivation);
  }
  if (finding != nullptr) text += paragraph("in training", finding->meaning);
  if (verdict) text += paragraph("how sure", evidence(*verdict));
  for (const auto& one : studied) text += of_study(one);
  for (const auto& name : claim.studies)
    text += paragraph(studied.empty() ? "study" : "again",
                      fmt::format("kappascope sweep experiments/small/{}.ini", name));
  return text + paragraph("code", claim.code);
}

std::string table_row(const Claim& claim, const Verdict& verdict) {
  constexpr std::size_t kOutcome = 24;
  const std::string outcome = to_string(verdict.outcome);
  const auto cell = [](const std::string& text, std::size_t width) {
    return text + std::string(width - std::min(width, characters(text)), ' ') + ' ';
  };
  const auto row = cell(claim.id, kIndent - 4) + cell(outcome, kOutcome);
  const auto room = kWidth - characters(row);
  if (characters(claim.statement) <= room) return row + claim.statement + '\n';
  std::istringstream words(claim.statement);
  std::string shown, word;
  while (words >> word && characters(shown) + characters(word) + 2 <= room) shown += word + ' ';
  return row + shown + "…\n";
}

std::string brief(const Claim& claim, const Verdict& verdict) {
  return paragraph(claim.id, claim.statement) + decided(verdict);
}

}  // namespace kappascope::theory
