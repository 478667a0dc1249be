// SPDX-License-Identifier: Apache-2.0
#include "lab/report/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/markdown.h"
#include "core/printable.h"
#include "lab/report/forest.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

using study::ArmSummary;
using study::StudyResult;

/// The mark, and the level in percent.
constexpr const char* kHead =
    "# Results of the studies\n\n"
    "{}: do not edit. Differences are paired by seed: mean, 95 % interval\n"
    "by Student's t. A claim asks one question of its study, and p is that of the answer: of a "
    "statement on several\n"
    "contrasts the largest of theirs, of a contrary one among them the smallest times their "
    "number. Over all verdicts,\n"
    "those on claims of the documents and those on claims of ours apart, the false discovery rate "
    "is held at {:g} %\n"
    "(Benjamini and Hochberg, for tests that are independent or positively dependent): q. What "
    "stands beside a claim is\n"
    "described and not tested; the comparisons of a study's table are corrected among themselves "
    "(Holm). Every claim has\n"
    "a smallest difference of interest: that of its document, or 1 % of a loss, 0.02 of an "
    "accuracy, 5 % of an eigenvalue,\n"
    "a condition number, a variance or an isotropy. A verdict speaks of these runs, at their size "
    "and on their data:\n\n"
    "- *holds under a condition*: what the document says is seen, with p and q below {:g} %; the "
    "condition is that these runs\n"
    "  are what it means;\n"
    "- *refuted*: the contrary is seen, equally surely, or a difference that matters would have "
    "been seen and is not;\n"
    "- *too few runs*: neither is seen, and the text says how many pairs of runs decide;\n"
    "- *regime not reached*: the control does not show what the document's does, so that nothing "
    "is decided (where it does\n"
    "  so by chance, an arm that is no different looks like one that is);\n"
    "- *measured*: a number without a yes or no;\n"
    "- *undecided*: the study lacks what the claim needs, or was not run again since its "
    "definition changed.\n";

/// "–" for what is not known.
std::string number(double value) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{:.4g}", value);
}

std::string interval(double lower, double upper) {
  return std::isnan(lower) || std::isnan(upper)
             ? "–"
             : fmt::format("{} to {}", number(lower), number(upper));
}

std::string interval(const std::optional<double>& lower, const std::optional<double>& upper) {
  return lower && upper ? interval(*lower, *upper) : "–";
}

std::string percentage(double share) {
  return std::isnan(share) ? "–" : fmt::format("{:.2g} %", 100 * share);
}

/// " (1.02 x)": against the control, of which it says nothing.
std::string times(double value, double control) {
  if (std::isnan(value) || std::isnan(control) || control == 0) return "";
  return fmt::format(" ({:.3g} x)", value / control);
}

double parameters_of(const ArmSummary& arm) {
  return arm.parameters ? static_cast<double>(*arm.parameters) : ArmSummary::kNotRecorded;
}

std::string summary(const std::vector<StudyResult>& studies) {
  std::string out =
      "\n## All verdicts\n\n"
      "| claim | study | what was measured | value | 95 % interval | compared with | seeds | p | q "
      "| verdict |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& study : studies) {
    for (const auto& claim : study.verdicts) {
      const auto& verdict = claim.verdict;
      const bool seen = !verdict.left.empty();
      out += fmt::format("| {} | [{}](#{}) | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                         markdown_cell(claim.claim),
                         markdown_cell(study.name),
                         markdown_cell(study.name),
                         markdown_cell(verdict.left),
                         seen ? number(verdict.measured) : "–",
                         seen ? interval(verdict.lower, verdict.upper) : "–",
                         seen ? number(verdict.predicted) : "–",
                         study.seeds,
                         verdict.p ? number(*verdict.p) : "–",
                         verdict.q ? number(*verdict.q) : "–",
                         to_string(verdict.outcome));
    }
  }
  return out;
}

std::string verdicts_table(const StudyResult& study) {
  if (study.verdicts.empty()) return "";
  std::string out =
      "\n| claim | the document says | verdict | what was measured |\n|---|---|---|---|\n";
  for (const auto& claim : study.verdicts) {
    out += fmt::format("| {} | {} ({}) | {} | {} |\n",
                       markdown_cell(claim.claim),
                       markdown_cell(claim.statement),
                       markdown_cell(claim.source),
                       to_string(claim.verdict.outcome),
                       markdown_cell(claim.verdict.condition));
  }
  return out;
}

std::string arms_table(const StudyResult& study) {
  std::string out =
      "\n| arm | runs | diverged | parameters | loss spikes | probing |\n"
      "|---|---|---|---|---|---|\n";
  for (const auto& arm : study.arms) {
    const auto& control = study.arms.front();
    const bool other = &arm != &control;
    out += fmt::format("| {} | {} | {} | {}{} | {} | {} |\n",
                       markdown_cell(arm.arm),
                       arm.runs,
                       arm.diverged,
                       arm.parameters ? std::to_string(*arm.parameters) : "–",
                       other ? times(parameters_of(arm), parameters_of(control)) : "",
                       number(arm.spikes),
                       percentage(arm.probing));
  }
  return out;
}

std::string comparisons_table(const StudyResult& study) {
  if (study.comparisons.empty()) return "";
  std::string out = fmt::format(
      "\n| quantity | condition | arm | median | {} | difference | 95 % interval | pairs | p | "
      "would "
      "have found |\n|---|---|---|---|---|---|---|---|---|---|\n",
      markdown_cell(study.comparisons.front().control));
  for (const auto& c : study.comparisons) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                       markdown_cell(c.metric),
                       markdown_cell(c.condition),
                       markdown_cell(c.arm),
                       number(c.arm_median),
                       number(c.control_median),
                       number(c.difference.mean),
                       interval(c.difference.lower, c.difference.upper),
                       c.difference.pairs,
                       number(c.corrected_p),
                       number(c.difference.detectable));
  }
  return out;
}

/// "On mnist, 100 steps, 5 seeds, 9 of 10 runs.", of data and steps where the runs recorded them.
std::string extent(const StudyResult& study) {
  std::string text = study.data.empty() ? "" : "On " + study.data + ", ";
  if (!study.steps.empty()) text += study.steps + " steps, ";
  text += fmt::format("{} seeds, {} of {} runs.", study.seeds, study.ended, study.runs);
  if (study.outdated)
    text += " Of an earlier definition of this study: it has changed since and was not run again.";
  return markdown_text(text) + "\n";
}

}  // namespace

std::string study_markdown(const std::vector<StudyResult>& results) {
  std::string out =
      fmt::format(fmt::runtime(kHead), kMarkdownMark, 100 * study::kLevel, 100 * study::kLevel);
  const auto decided = [](const StudyResult& study) { return !study.verdicts.empty(); };
  out += forest_table(results);
  if (std::ranges::any_of(results, decided)) out += summary(results);
  for (const auto& study : results) {
    out += fmt::format("\n## {}\n\n{}", markdown_text(study.name), extent(study));
    if (!study.command.empty()) out += "\n    " + printable(study.command) + "\n";
    out += verdicts_table(study) + arms_table(study) + comparisons_table(study);
  }
  return out;
}

}  // namespace kappascope::reports
