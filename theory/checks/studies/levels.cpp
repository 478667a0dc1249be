// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kappascope/core/statistics.h"
#include "theory/checks/studies/judging.h"

namespace kappascope::theory {
namespace {

/// One arm under one condition.
struct Level {
  std::string arm, condition;
  PairedDifference from_zero;
  std::string lacking;

  [[nodiscard]] std::string text() const {
    const auto where = condition.empty() ? arm : fmt::format("{} ({})", arm, condition);
    return fmt::format("{} {:.3g} [{:.3g}, {:.3g}], {} runs",
                       where,
                       from_zero.mean,
                       from_zero.lower,
                       from_zero.upper,
                       from_zero.pairs);
  }
};

std::vector<Level> levels_of(const StudyRuns& study,
                             const std::string& arm,
                             const std::string& metric) {
  std::map<std::string, std::vector<double>> values;
  std::string lacking;
  for (const auto& run : study.runs) {
    if (run.arm != arm) continue;
    const auto found = run.values.find(metric);
    if (run.state == "failed") {
      lacking = fmt::format("seed {} of '{}' diverged", run.seed, arm);
    } else if (found == run.values.end() || std::isnan(found->second.value)) {
      lacking = fmt::format("seed {} of '{}' has no {}", run.seed, arm, metric);
    } else {
      values[run.condition].push_back(found->second.value);
    }
  }
  if (values.empty() && lacking.empty())
    lacking = fmt::format("{} has no arm '{}'", study.name, arm);
  if (!lacking.empty()) return {{arm, "", {}, lacking}};
  std::vector<Level> levels;
  for (const auto& [condition, of_seeds] : values) {
    const std::vector<double> zeros(of_seeds.size());
    levels.push_back({arm, condition, paired_difference(of_seeds, zeros), ""});
  }
  return levels;
}

}  // namespace

Verdict check_level(const StudyRuns& study, const LevelQuestion& question) {
  const bool lower = question.expected == Direction::kLower;
  Verdict verdict;
  verdict.route = "study";
  verdict.left = question.metric + " of " + question.arm;
  verdict.right = lower ? "at most" : "at least";
  verdict.predicted = question.bound;
  const auto levels = levels_of(study, question.arm, question.metric);
  if (!levels.front().lacking.empty()) {
    verdict.condition = levels.front().lacking;
    return verdict;
  }
  const auto p_of = [&](const Level& level, bool below) {
    const auto& d = level.from_zero;
    const double p = below ? d.p_below(question.bound) : d.p_above(question.bound);
    return std::min(1.0, 2 * p);
  };
  // The numbers are those of the condition that is worst for the statement.
  const auto worst = *std::ranges::max_element(levels, {}, [&](const Level& level) {
    return lower ? level.from_zero.mean : -level.from_zero.mean;
  });
  verdict.measured = worst.from_zero.mean;
  verdict.lower = worst.from_zero.lower;
  verdict.upper = worst.from_zero.upper;
  verdict.margin = std::abs(worst.from_zero.mean - question.bound);
  verdict.cases = worst.from_zero.pairs;
  std::string words = question.metric + " of ";
  for (const auto& level : levels) words += (&level == levels.data() ? "" : "; ") + level.text();
  for (const auto& arm : question.beside) {
    for (const auto& level : levels_of(study, arm, question.metric))
      words += "; beside it " + (level.lacking.empty() ? level.text() : level.lacking);
  }
  // "Under each condition", and "under one of them".
  double stated = 0, against = 1;
  for (const auto& level : levels) {
    stated = std::max(stated, p_of(level, lower));
    against = std::min(against, p_of(level, !lower) * static_cast<double>(levels.size()));
  }
  verdict.condition = words;
  set_p(verdict, std::min(stated, against));
  if (stated < study::kLevel) {
    verdict.outcome = Outcome::kHoldsUnder;
  } else if (against < study::kLevel) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness = worst.text();
  } else {
    verdict.outcome = Outcome::kTooFewRuns;
  }
  return verdict;
}

}  // namespace kappascope::theory
