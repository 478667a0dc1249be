// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/contrasts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kappascope/store/study/comparison.h"
#include "theory/checks/studies/pairs.h"

namespace kappascope::theory {
namespace {

constexpr double kLevel = 0.05;

/// One contrast under one condition.
struct Seen {
  Contrast contrast;
  store::Comparison found;

  [[nodiscard]] const PairedDifference& difference() const { return found.difference; }
  [[nodiscard]] bool is_certain() const { return found.corrected_p < kLevel; }
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

/// Every contrast under every condition, with p-values corrected over all of them; or what lacks.
struct Sight {
  std::vector<Seen> seen;
  std::string lacking;
};

Sight look(const StudyRuns& study, const std::vector<Contrast>& contrasts) {
  Sight sight;
  for (const auto& contrast : contrasts) {
    const auto pairs = compare_arms(study, contrast);
    if (!pairs.lacking.empty()) return {{}, pairs.lacking};
    for (const auto& found : pairs.comparisons) sight.seen.push_back({contrast, found});
  }
  std::vector<double> p;
  p.reserve(sight.seen.size());
  for (const auto& one : sight.seen) p.push_back(one.difference().p);
  const auto corrected = holm(p);
  for (std::size_t i = 0; i < p.size(); ++i) sight.seen[i].found.corrected_p = corrected[i];
  return sight;
}

std::string in_words(const std::vector<Seen>& seen) {
  std::string text;
  for (const auto& one : seen) text += (text.empty() ? "" : "; ") + describe(one.found);
  return text;
}

/// The numbers of one contrast as those of the verdict: the most telling one.
void report(const Seen& one, Verdict& verdict) {
  const auto& d = one.difference();
  verdict.left = fmt::format("{} of {} minus {}{}",
                             one.found.metric,
                             one.found.arm,
                             one.found.control,
                             one.found.condition.empty() ? "" : ", " + one.found.condition);
  verdict.measured = d.mean;
  if (d.pairs >= 2 && !d.is_same_in_all()) {
    verdict.lower = d.lower;
    verdict.upper = d.upper;
  }
  verdict.margin = std::abs(d.mean - verdict.predicted);
}

Verdict begin(const Sight& sight, const std::string& right) {
  Verdict verdict;
  verdict.route = "study";
  verdict.right = right;
  for (const auto& one : sight.seen) verdict.cases += one.difference().pairs;
  if (!sight.seen.empty()) report(sight.seen.front(), verdict);
  verdict.condition = sight.seen.empty() ? sight.lacking : in_words(sight.seen);
  return verdict;
}

/// Why no verdict could be reached: the largest difference that one of the contrasts would miss.
std::string what_would_tell(const std::vector<Seen>& seen) {
  const Seen* coarsest = nullptr;
  for (const auto& one : seen) {
    const double missed = one.difference().detectable;
    if (missed > 0 && (coarsest == nullptr || missed > coarsest->difference().detectable))
      coarsest = &one;
  }
  if (coarsest == nullptr) return "not to be told from these runs: ";
  return fmt::format(
      "not to be told from these runs (a difference of {} below {:.2g} would be "
      "missed): ",
      coarsest->found.metric,
      coarsest->difference().detectable);
}

/// Whether the whole interval lies beside the sizes from `first` to `second`.
bool excludes(const Seen& one, const std::pair<double, double>& sizes) {
  const auto& d = one.difference();
  return d.lower > sizes.second || d.upper < sizes.first;
}

}  // namespace

Verdict check_direction(const StudyRuns& study, const DirectionQuestion& question) {
  auto contrasts = question.claimed;
  const auto sight = look(study, contrasts);
  auto verdict = begin(sight, "the document");
  if (question.size) verdict.predicted = (question.size->first + question.size->second) / 2;
  if (sight.seen.empty()) return verdict;
  verdict.margin = std::abs(verdict.measured - verdict.predicted);
  const auto beside = look(study, question.beside);
  const auto contrary = std::ranges::find_if(
      sight.seen, [](const Seen& one) { return one.is_certain() && !one.as_expected(); });
  std::string size;
  if (contrary != sight.seen.end()) {
    verdict.outcome = Outcome::kRefuted;
    report(*contrary, verdict);
    verdict.witness = describe(contrary->found);
  } else if (std::ranges::all_of(sight.seen, &Seen::is_certain)) {
    verdict.outcome = Outcome::kHoldsUnder;
    if (question.size) {
      const auto [from, to] = *question.size;
      const bool possible = !excludes(sight.seen.front(), *question.size);
      size = fmt::format(
          "the size that the document gives, {}, is {}; ",
          from == to ? fmt::format("{:g}", from) : fmt::format("{:g} to {:g}", from, to),
          possible ? "possible" : "not that of these runs");
    }
  } else if (question.size && excludes(sight.seen.front(), *question.size)) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness = describe(sight.seen.front().found);
    size = fmt::format("an effect of {:g} would have been seen; ", verdict.predicted);
  } else {
    size = what_would_tell(sight.seen);
  }
  verdict.condition = size + in_words(sight.seen);
  if (!beside.seen.empty()) verdict.condition += "; beside it: " + in_words(beside.seen);
  return verdict;
}

Verdict check_no_effect(const StudyRuns& study,
                        const std::vector<Contrast>& claimed,
                        double margin) {
  const auto sight = look(study, claimed);
  auto verdict = begin(sight, fmt::format("0, to within {:g} % of the control", 100 * margin));
  if (sight.seen.empty()) return verdict;
  const auto effect = std::ranges::find_if(
      sight.seen, [&](const Seen& one) { return one.is_certain() && one.beyond(margin); });
  if (effect != sight.seen.end()) {
    verdict.outcome = Outcome::kRefuted;
    report(*effect, verdict);
    verdict.witness = describe(effect->found);
  } else if (std::ranges::all_of(sight.seen, [&](const Seen& one) { return one.within(margin); })) {
    verdict.outcome = Outcome::kHoldsUnder;
  } else {
    verdict.condition = what_would_tell(sight.seen) + verdict.condition;
  }
  return verdict;
}

Verdict check_some_effect(const StudyRuns& study,
                          const std::vector<Contrast>& claimed,
                          double margin) {
  const auto sight = look(study, claimed);
  auto verdict = begin(sight, "0, no effect");
  if (sight.seen.empty()) return verdict;
  const auto by_certainty = [](const Seen& one) {
    return std::isnan(one.found.corrected_p) ? 2.0 : one.found.corrected_p;
  };
  const auto clearest = std::ranges::min_element(sight.seen, {}, by_certainty);
  report(*clearest, verdict);
  const auto certain = std::ranges::count_if(sight.seen, &Seen::is_certain);
  std::string head;
  if (certain > 0) {
    verdict.outcome = Outcome::kHoldsUnder;
    head = fmt::format("a difference in {} of {} comparisons: ", certain, sight.seen.size());
  } else if (std::ranges::all_of(sight.seen, [&](const Seen& one) { return one.within(margin); })) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness =
        fmt::format("every interval lies within {:g} % of the control's value", 100 * margin);
  } else {
    head = what_would_tell(sight.seen);
  }
  verdict.condition = head + in_words(sight.seen);
  return verdict;
}

}  // namespace kappascope::theory
