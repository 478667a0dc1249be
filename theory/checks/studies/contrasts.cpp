// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/contrasts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kappascope/study/comparison.h"
#include "theory/checks/studies/pairs.h"

namespace kappascope::theory {
namespace {

/// One contrast under one condition.
struct ContrastResult {
  Contrast contrast;
  study::Comparison found;

  [[nodiscard]] const PairedDifference& difference() const { return found.difference; }
  [[nodiscard]] bool is_significant() const { return found.is_significant(); }
  [[nodiscard]] bool as_expected() const {
    return (difference().mean < 0) == (contrast.expected == Direction::kLower);
  }
  /// The whole interval within ±share of what the control has; a difference that is the same in
  /// every pair, itself.
  [[nodiscard]] bool within(double share) const {
    const double bound = share * std::abs(found.control_median);
    if (difference().is_same_in_all()) return std::abs(difference().mean) <= bound;
    return difference().pairs >= 2 && difference().lower >= -bound && difference().upper <= bound;
  }
  [[nodiscard]] bool beyond(double share) const {
    const double bound = share * std::abs(found.control_median);
    return difference().lower > bound || difference().upper < -bound;
  }
};

/// Every contrast under every condition, with p-values corrected over all of them; or what the
/// study lacks.
struct ContrastResults {
  std::vector<ContrastResult> results;
  std::string lacking;
};

ContrastResults compare_contrasts(const StudyRuns& study, const std::vector<Contrast>& contrasts) {
  ContrastResults out;
  for (const auto& contrast : contrasts) {
    const auto pairs = compare_arms(study, contrast);
    if (!pairs.lacking.empty()) return {{}, pairs.lacking};
    for (const auto& found : pairs.comparisons) out.results.push_back({contrast, found});
  }
  std::vector<double> p;
  p.reserve(out.results.size());
  for (const auto& result : out.results) p.push_back(result.difference().p);
  const auto corrected = holm(p);
  for (std::size_t i = 0; i < p.size(); ++i) out.results[i].found.corrected_p = corrected[i];
  return out;
}

std::string in_words(const std::vector<ContrastResult>& results) {
  std::string text;
  for (const auto& result : results) text += (text.empty() ? "" : "; ") + describe(result.found);
  return text;
}

/// The numbers of one contrast as those of the verdict: the most telling result.
void report(const ContrastResult& result, Verdict& verdict) {
  const auto& d = result.difference();
  verdict.left = fmt::format("{} of {} minus {}{}",
                             result.found.metric,
                             result.found.arm,
                             result.found.control,
                             result.found.condition.empty() ? "" : ", " + result.found.condition);
  verdict.measured = d.mean;
  if (d.pairs >= 2 && !d.is_same_in_all()) {
    verdict.lower = d.lower;
    verdict.upper = d.upper;
  }
  verdict.margin = std::abs(d.mean - verdict.predicted);
}

Verdict begin(const ContrastResults& compared, const std::string& right) {
  Verdict verdict;
  verdict.route = "study";
  verdict.right = right;
  for (const auto& result : compared.results) verdict.cases += result.difference().pairs;
  if (!compared.results.empty()) report(compared.results.front(), verdict);
  verdict.condition = compared.results.empty() ? compared.lacking : in_words(compared.results);
  return verdict;
}

/// Why the runs do not decide: the largest difference that one of the contrasts would miss.
std::string why_undecided(const std::vector<ContrastResult>& results) {
  const ContrastResult* coarsest = nullptr;
  for (const auto& result : results) {
    const double missed = result.difference().detectable;
    if (missed > 0 && (coarsest == nullptr || missed > coarsest->difference().detectable))
      coarsest = &result;
  }
  if (coarsest == nullptr) return "not to be told from these runs: ";
  return fmt::format(
      "not to be told from these runs (a difference of {} below {:.2g} would be "
      "missed): ",
      coarsest->found.metric,
      coarsest->difference().detectable);
}

/// Whether the whole interval lies beside the sizes from `first` to `second`.
bool excludes(const ContrastResult& result, const std::pair<double, double>& sizes) {
  const auto& d = result.difference();
  return d.lower > sizes.second || d.upper < sizes.first;
}

}  // namespace

Verdict check_direction(const StudyRuns& study, const DirectionQuestion& question) {
  auto contrasts = question.claimed;
  const auto compared = compare_contrasts(study, contrasts);
  auto verdict = begin(compared, "the document");
  if (question.size) verdict.predicted = (question.size->first + question.size->second) / 2;
  if (compared.results.empty()) return verdict;
  verdict.margin = std::abs(verdict.measured - verdict.predicted);
  const auto beside = compare_contrasts(study, question.beside);
  const auto contrary = std::ranges::find_if(compared.results, [](const ContrastResult& result) {
    return result.is_significant() && !result.as_expected();
  });
  std::string size;
  if (contrary != compared.results.end()) {
    verdict.outcome = Outcome::kRefuted;
    report(*contrary, verdict);
    verdict.witness = describe(contrary->found);
  } else if (std::ranges::all_of(compared.results, &ContrastResult::is_significant)) {
    verdict.outcome = Outcome::kHoldsUnder;
    if (question.size) {
      const auto [from, to] = *question.size;
      const bool possible = !excludes(compared.results.front(), *question.size);
      size = fmt::format(
          "the size that the document gives, {}, is {}; ",
          from == to ? fmt::format("{:g}", from) : fmt::format("{:g} to {:g}", from, to),
          possible ? "possible" : "not that of these runs");
    }
  } else if (question.size && excludes(compared.results.front(), *question.size)) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness = describe(compared.results.front().found);
    size = fmt::format("an effect of {:g} would have been seen; ", verdict.predicted);
  } else {
    size = why_undecided(compared.results);
  }
  verdict.condition = size + in_words(compared.results);
  if (!beside.results.empty()) verdict.condition += "; beside it: " + in_words(beside.results);
  return verdict;
}

Verdict check_no_effect(const StudyRuns& study,
                        const std::vector<Contrast>& claimed,
                        double margin) {
  const auto compared = compare_contrasts(study, claimed);
  auto verdict = begin(compared, fmt::format("0, to within {:g} % of the control", 100 * margin));
  if (compared.results.empty()) return verdict;
  const auto effect = std::ranges::find_if(compared.results, [&](const ContrastResult& result) {
    return result.is_significant() && result.beyond(margin);
  });
  if (effect != compared.results.end()) {
    verdict.outcome = Outcome::kRefuted;
    report(*effect, verdict);
    verdict.witness = describe(effect->found);
  } else if (std::ranges::all_of(compared.results, [&](const ContrastResult& result) {
               return result.within(margin);
             })) {
    verdict.outcome = Outcome::kHoldsUnder;
  } else {
    verdict.condition = why_undecided(compared.results) + verdict.condition;
  }
  return verdict;
}

Verdict check_some_effect(const StudyRuns& study,
                          const std::vector<Contrast>& claimed,
                          double margin) {
  const auto compared = compare_contrasts(study, claimed);
  auto verdict = begin(compared, "0, no effect");
  if (compared.results.empty()) return verdict;
  const auto by_p = [](const ContrastResult& result) {
    return std::isnan(result.found.corrected_p) ? 2.0 : result.found.corrected_p;
  };
  const auto clearest = std::ranges::min_element(compared.results, {}, by_p);
  report(*clearest, verdict);
  const auto significant = std::ranges::count_if(compared.results, &ContrastResult::is_significant);
  std::string head;
  if (significant > 0) {
    verdict.outcome = Outcome::kHoldsUnder;
    head =
        fmt::format("a difference in {} of {} comparisons: ", significant, compared.results.size());
  } else if (std::ranges::all_of(compared.results, [&](const ContrastResult& result) {
               return result.within(margin);
             })) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness =
        fmt::format("every interval lies within {:g} % of the control's value", 100 * margin);
  } else {
    head = why_undecided(compared.results);
  }
  verdict.condition = head + in_words(compared.results);
  return verdict;
}

}  // namespace kappascope::theory
