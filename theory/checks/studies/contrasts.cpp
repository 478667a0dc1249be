// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/contrasts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "theory/checks/studies/judging.h"

namespace kappascope::theory {
namespace {

/// Twice the one-sided chance of differences like these, were the mean one of the sizes from
/// `first` to `second`; 1 inside them.
double p_of_size(const PairedDifference& d, const std::pair<double, double>& sizes) {
  const auto [from, to] = sizes;
  if (d.mean < from) return std::min(1.0, 2 * d.p_below(from));
  if (d.mean > to) return std::min(1.0, 2 * d.p_above(to));
  return 1;
}

void add_beside(const StudyRuns& study,
                const std::vector<Contrast>& contrasts,
                study::Family& family,
                Verdict& verdict) {
  auto beside = find_contrasts(study, contrasts, family);
  correct(beside, family);
  if (!beside.results.empty()) verdict.condition += "; beside it: " + in_words(beside.results);
}

/// "norm bias against no bias, both against no bias (2 of 6 comparisons)": of several arms one
/// may differ, and not the one that the document is about.
std::string significant_ones(const std::vector<ContrastResult>& results) {
  std::vector<std::string> names;
  for (const auto& result : results) {
    if (result.is_significant())
      names.push_back(result.found.arm + " against " + result.found.control);
  }
  return fmt::format(
      "{} ({} of {} comparisons)", fmt::join(names, ", "), names.size(), results.size());
}

}  // namespace

Verdict check_direction(const StudyRuns& study, const DirectionQuestion& question) {
  study::Family own;
  auto& family = study.family == nullptr ? own : *study.family;
  auto compared = find_contrasts(study, question.claimed, family);
  const auto size_test = test_name("size", question.claimed);
  if (question.size && !compared.results.empty())
    family.add(size_test, p_of_size(compared.results.front().difference(), *question.size));
  correct(compared, family);
  auto verdict = begin(compared, "the document");
  if (compared.results.empty()) return verdict;
  // Of the document's sizes, the nearest to what was found.
  if (question.size)
    verdict.predicted = std::clamp(verdict.measured, question.size->first, question.size->second);
  verdict.margin = std::abs(verdict.measured - verdict.predicted);
  const auto contrary = std::ranges::find_if(compared.results, [](const ContrastResult& result) {
    return result.is_significant() && !result.as_expected();
  });
  const bool size_excluded = question.size && family.corrected(size_test) < study::kLevel;
  std::string head;
  if (contrary != compared.results.end()) {
    verdict.outcome = Outcome::kRefuted;
    report(*contrary, verdict);
    verdict.witness = describe(contrary->found);
    set_p(verdict, contrary->found.corrected_p);
  } else if (std::ranges::all_of(compared.results, &ContrastResult::is_significant)) {
    verdict.outcome = Outcome::kHoldsUnder;
    set_p(verdict, largest_p(compared.results));
    if (question.size) {
      const auto [from, to] = *question.size;
      head = fmt::format(
          "the size that the document gives, {}, is {}; ",
          from == to ? fmt::format("{:g}", from) : fmt::format("{:g} to {:g}", from, to),
          size_excluded ? "not that of these runs" : "possible");
    }
  } else if (size_excluded && !compared.results.front().is_significant()) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness = describe(compared.results.front().found);
    set_p(verdict, family.corrected(size_test));
    head = fmt::format("an effect of {:g} would have been seen; ", verdict.predicted);
  } else {
    verdict.outcome = Outcome::kTooFewRuns;
    set_p(verdict, largest_p(compared.results));
    head = what_was_missed(compared.results, family.level());
  }
  verdict.condition = head + in_words(compared.results);
  add_beside(study, question.beside, family, verdict);
  return verdict;
}

Verdict check_no_effect(const StudyRuns& study, const NoEffectQuestion& question) {
  study::Family own;
  auto& family = study.family == nullptr ? own : *study.family;
  auto compared = find_contrasts(study, question.claimed, family);
  double within = 0, beyond = 1;
  for (const auto& result : compared.results) {
    const double bound = bound_of(question.margin, result.found);
    // A statement on all of them has the worst of their chances (Berger 1982).
    within = std::max(within, p_of_within(result.difference(), bound));
    beyond = std::min(
        beyond,
        p_of_beyond(result.difference(), bound) * static_cast<double>(compared.results.size()));
  }
  const auto within_test = test_name("within", question.claimed),
             beyond_test = test_name("beyond", question.claimed);
  if (!compared.results.empty()) {
    family.add(within_test, within);
    if (!question.seen_refutes) family.add(beyond_test, beyond);
  }
  correct(compared, family);
  auto verdict = begin(compared, "0, to within " + margin_in_words(question.margin));
  if (compared.results.empty()) return verdict;
  const auto clearest =
      std::ranges::min_element(compared.results, {}, [&](const ContrastResult& result) {
        const double p = result.found.corrected_p;
        const double bound = bound_of(question.margin, result.found);
        if (!question.seen_refutes) return p_of_beyond(result.difference(), bound);
        return std::isnan(p) ? 2.0 : p;
      });
  const bool seen = question.seen_refutes ? clearest->is_significant()
                                          : family.corrected(beyond_test) < study::kLevel;
  report(*clearest, verdict);
  if (family.corrected(within_test) < study::kLevel) {
    verdict.outcome = Outcome::kHoldsUnder;
    set_p(verdict, family.corrected(within_test));
  } else if (seen) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness = describe(clearest->found);
    if (question.seen_refutes) {
      verdict.condition =
          fmt::format("refuted by {}; {}", significant_ones(compared.results), verdict.condition);
    }
    set_p(verdict,
          question.seen_refutes ? clearest->found.corrected_p : family.corrected(beyond_test));
  } else {
    verdict.outcome = Outcome::kTooFewRuns;
    // The one that is farthest from being shown to be small.
    report(*std::ranges::max_element(compared.results,
                                     {},
                                     [&](const ContrastResult& result) {
                                       return p_of_within(result.difference(),
                                                          bound_of(question.margin, result.found));
                                     }),
           verdict);
    set_p(verdict, family.corrected(within_test));
    verdict.condition = fmt::format("not all shown to lie within {} of zero; {}{}",
                                    margin_in_words(question.margin),
                                    what_was_missed(compared.results, family.level()),
                                    verdict.condition);
  }
  add_beside(study, question.beside, family, verdict);
  return verdict;
}

}  // namespace kappascope::theory
