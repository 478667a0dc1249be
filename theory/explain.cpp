// SPDX-License-Identifier: Apache-2.0
#include "kappascope/theory/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "kappascope/core/wrap.h"

namespace kappascope::theory {
namespace {

constexpr std::size_t kWidth = 96, kIndent = 14;

/// A label, and beside it the text, wrapped at blanks.
std::string paragraph(const std::string& label, const std::string& text) {
  if (text.empty()) return "";
  const std::string gap(kIndent - std::min(kIndent, characters(label)), ' ');
  return label + gap + wrapped(text, {.width = kWidth, .column = kIndent, .indent = kIndent});
}

std::string sides(const Verdict& verdict) {
  auto text = fmt::format("{}: {:.8g}", verdict.left, verdict.measured);
  if (verdict.lower && verdict.upper)
    text += fmt::format(" [{:.6g}, {:.6g}]", *verdict.lower, *verdict.upper);
  return text + fmt::format("; {}: {:.8g}", verdict.right, verdict.predicted);
}

std::string evidence(const Verdict& verdict) {
  auto text = fmt::format("{}, {} cases", verdict.route, verdict.cases);
  if (verdict.outcome == Outcome::kHolds || verdict.outcome == Outcome::kHoldsUnder) {
    text += verdict.tolerance > 0
                ? fmt::format(", largest deviation {:.2g} (rounding allows {:.2g})",
                              verdict.margin,
                              verdict.tolerance)
                : ", no deviation in exact arithmetic";
  }
  return text + fmt::format(", seed {}, {:.2g} s", verdict.seed, verdict.seconds);
}

std::string decided(const Verdict& verdict) {
  return paragraph("verdict", to_string(verdict.outcome)) +
         paragraph("condition", verdict.condition) + paragraph("numbers", sides(verdict)) +
         paragraph("evidence", evidence(verdict)) + paragraph("witness", verdict.witness);
}

constexpr const char* kNextWitness = " | ";  // between the witnesses of a conjunction

std::string first_witness(const Verdict& verdict) {
  return verdict.witness.substr(0, verdict.witness.find(kNextWitness));
}

std::string other_witnesses(const Verdict& verdict) {
  const auto next = verdict.witness.find(kNextWitness);
  return next == std::string::npos ? "" : verdict.witness.substr(next + 3);
}

/// The verdict with its example first; its condition is left to the corrected statement where the
/// two are the same.
std::string for_reviewer(const Claim& claim, const Verdict& verdict, const Claim* corrected) {
  const bool said_below = corrected != nullptr && corrected->statement == verdict.condition;
  return paragraph("verdict", to_string(verdict.outcome)) +
         paragraph("example", first_witness(verdict)) + paragraph("source", claim.source) +
         paragraph("assumptions", claim.assumptions) + paragraph("decided by", claim.derivation) +
         paragraph("condition", said_below ? "" : verdict.condition) +
         paragraph("numbers", sides(verdict)) + paragraph("evidence", evidence(verdict)) +
         paragraph("more", other_witnesses(verdict));
}

}  // namespace

std::string explain(const Claim& claim,
                    const std::optional<Verdict>& verdict,
                    const Claim* corrected) {
  auto text = paragraph(claim.id, claim.statement);
  if (verdict) {
    text += for_reviewer(claim, *verdict, corrected);
  } else {
    text += paragraph("source", claim.source) + paragraph("assumptions", claim.assumptions) +
            paragraph("decided by", claim.derivation) +
            paragraph("verdict",
                      claim.needs_run ? "needs a stored run: kappascope verify --run RUN"
                                      : "decided by studies");
  }
  if (!claim.studies.empty()) {
    text += paragraph("studies",
                      fmt::format("{}: kappascope sweep experiments/small/STUDY.ini",
                                  fmt::join(claim.studies, ", ")));
  }
  if (corrected != nullptr) {
    text += paragraph("corrected", corrected->id + ": " + corrected->statement) +
            paragraph("because", corrected->derivation);
  }
  return text;
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
