// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/contrasts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/require.h"
#include "theory/checks/studies/judging.h"

namespace kappascope::theory {
namespace {

/// Sizes on the scale of the comparison.
std::pair<double, double> on_scale(const Contrast& contrast, std::pair<double, double> sizes) {
  return contrast.ratio ? std::pair(std::log(sizes.first), std::log(sizes.second)) : sizes;
}

/// Twice the one-sided chance of differences like these, were the mean one of the sizes from
/// `first` to `second`; 1 inside them.
double p_of_size(const ContrastResult& result, const std::pair<double, double>& sizes) {
  const auto& d = result.difference();
  const auto [from, to] = on_scale(result.contrast, sizes);
  if (d.mean < from) return std::min(1.0, 2 * d.p_below(from));
  if (d.mean > to) return std::min(1.0, 2 * d.p_above(to));
  return 1;
}

void add_beside(const StudyRuns& study, const std::vector<Contrast>& contrasts, Verdict& verdict) {
  const auto beside = find_contrasts(study, contrasts);
  if (!beside.results.empty())
    verdict.condition += "; beside it: " + in_words(beside.results, WithP::kNo);
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

std::string size_in_words(const std::pair<double, double>& size) {
  const auto [from, to] = size;
  return from == to ? fmt::format("{:g}", from) : fmt::format("{:g} to {:g}", from, to);
}

/// A question with what its study found.
struct Asked {
  const DirectionQuestion& question;
  const std::vector<ContrastResult>& results;

  /// The first contrast, where the document gives its size.
  [[nodiscard]] bool has_size(const ContrastResult& result) const {
    return question.size && &result == results.data();
  }
  /// What is not there if the statement is false: the nearest of the document's sizes, or the
  /// smallest difference of interest. Towards zero, on the scale of the comparison.
  [[nodiscard]] double bound(const ContrastResult& result) const {
    if (!has_size(result)) return bound_of(question.matters, result);
    const auto [from, to] = on_scale(result.contrast, *question.size);
    return std::min(std::abs(from), std::abs(to));
  }
  [[nodiscard]] Test as_stated() const {
    return all_of(results, [](const auto& result) {
      return result.as_expected() ? result.p : std::isnan(result.p) ? result.p : 1;
    });
  }
  [[nodiscard]] Test contrary() const {
    return any_of(
        results, [](const auto& result) { return result.as_expected() ? std::nan("") : result.p; });
  }
  [[nodiscard]] Test falls_short() const {
    return any_of(results, [this](const auto& result) {
      const bool seen = result.is_significant() && result.as_expected();
      return seen ? std::nan("") : p_of_short(result, bound(result));
    });
  }
};

std::string bound_in_words(const Asked& asked, const ContrastResult& result) {
  return asked.has_size(result)
             ? size_in_words(*asked.question.size)
             : margin_in_words(result.contrast.matters.value_or(asked.question.matters));
}

/// A document's sizes have the sign that is expected, and the smaller comes first.
void require_sizes(const DirectionQuestion& question) {
  if (!question.size) return;
  const auto& first = question.claimed.front();
  const auto [from, to] = on_scale(first, *question.size);
  const double sign = first.expected == Direction::kLower ? -1 : 1;
  require(from <= to && sign * from > 0 && sign * to > 0,
          "the sizes {} are not those of the direction of {}",
          size_in_words(*question.size),
          first.metric);
}

/// What would settle an open question: "16 pairs find a difference of 0.1 …".
std::string what_would_tell(const Asked& asked) {
  const ContrastResult* coarsest = nullptr;
  std::int64_t most = 0;
  for (const auto& result : asked.results) {
    if (result.is_significant() && result.as_expected()) continue;
    const auto pairs = pairs_needed(result.difference(), asked.bound(result));
    if (!pairs || *pairs <= most) continue;
    most = *pairs;
    coarsest = &result;
  }
  if (coarsest == nullptr) return "";
  return fmt::format("{} pairs find a difference of {} in four studies of five, and here are {}: ",
                     most,
                     bound_in_words(asked, *coarsest),
                     coarsest->difference().pairs);
}

/// What would show that a difference is smaller than the margin.
std::string what_would_show(const ContrastResult& result, const Margin& margin) {
  const double room = bound_of(margin, result) - std::abs(result.difference().mean);
  if (room <= 0) return ", and the difference found is not smaller";
  const auto pairs = pairs_needed(result.difference(), room);
  return pairs ? fmt::format(", which {} pairs show in four studies of five if it is {:.2g}",
                             *pairs,
                             result.difference().mean)
               : "";
}

/// No run of either arm had one of the events that the metric counts: no test of any statement.
bool is_without_events(const ContrastResult& result) {
  const auto& d = result.difference();
  return d.is_same_in_all() && d.mean == 0 && result.found.control_median == 0;
}

/// What a statement that holds says of sizes.
std::string sizes_found(const Asked& asked) {
  const auto& question = asked.question;
  if (question.size) {
    const double p = p_of_size(asked.results.front(), *question.size);
    return fmt::format("the size that the document gives, {}, is {}; ",
                       size_in_words(*question.size),
                       p < study::kLevel ? "not that of these runs" : "possible");
  }
  const auto small = all_of(asked.results, [&](const auto& result) {
    return p_of_within(result.difference(), bound_of(question.matters, result));
  });
  return small.p < study::kLevel ? fmt::format("by less than {}, which is taken not to matter; ",
                                               margin_in_words(question.matters))
                                 : "";
}

}  // namespace

Verdict check_direction(const StudyRuns& study, const DirectionQuestion& question) {
  require_sizes(question);
  const auto compared = find_contrasts(study, question.claimed);
  auto verdict = begin(compared, "the document");
  if (compared.results.empty()) return verdict;
  // Of the document's sizes, the nearest to what was found.
  if (question.size)
    verdict.predicted = std::clamp(verdict.measured, question.size->first, question.size->second);
  verdict.margin = std::abs(verdict.measured - verdict.predicted);
  const Asked asked{question, compared.results};
  const auto stated = asked.as_stated(), contrary = asked.contrary(), missed = asked.falls_short();
  std::string head = what_is_left_out(compared.results);
  if (!head.empty()) {
    verdict.outcome = Outcome::kUndecided;
  } else if (stated.p < study::kLevel) {
    verdict.outcome = Outcome::kHoldsUnder;
    set_p(verdict, stated.p);
    head = sizes_found(asked);
  } else if (std::min(contrary.p, missed.p) < study::kLevel) {
    verdict.outcome = Outcome::kRefuted;
    set_p(verdict, std::min(contrary.p, missed.p));
    const bool seen = contrary.p < study::kLevel;
    const auto& witness = seen ? *contrary.on : *missed.on;
    if (!asked.has_size(witness)) {
      // Against no difference, or the smallest that matters.
      const double sign = witness.contrast.expected == Direction::kLower ? -1 : 1;
      const double bound = seen ? 0 : sign * asked.bound(witness);
      verdict.right = seen ? "no difference" : "the smallest difference of interest";
      verdict.predicted = witness.contrast.ratio ? std::exp(bound) : bound;
      report(witness, verdict);
    }
    verdict.witness = describe(witness);
    if (!seen)
      head =
          fmt::format("a difference of {} would have been seen; ", bound_in_words(asked, witness));
  } else {
    verdict.outcome = Outcome::kTooFewRuns;
    set_p(verdict, std::min({stated.p, contrary.p, missed.p}));
    head = what_would_tell(asked);
  }
  verdict.condition = head + in_words(compared.results, WithP::kYes);
  add_beside(study, question.beside, verdict);
  return verdict;
}

Verdict check_no_effect(const StudyRuns& study, const NoEffectQuestion& question) {
  const auto compared = find_contrasts(study, question.claimed);
  auto verdict = begin(compared, "0, to within " + margin_in_words(question.margin));
  if (compared.results.empty()) return verdict;
  const auto bound = [&](const ContrastResult& result) {
    return bound_of(question.margin, result);
  };
  const auto within = all_of(compared.results, [&](const ContrastResult& result) {
    return question.one_sided ? p_of_short(result, bound(result))
                              : p_of_within(result.difference(), bound(result));
  });
  const auto seen = any_of(compared.results, [&](const ContrastResult& result) {
    if (question.seen_refutes) return result.p;
    return question.one_sided ? p_of_passing(result, bound(result))
                              : p_of_beyond(result.difference(), bound(result));
  });
  const auto words = in_words(compared.results, WithP::kYes);
  verdict.condition = words;
  if (const auto left_out = what_is_left_out(compared.results); !left_out.empty()) {
    verdict.outcome = Outcome::kUndecided;
    verdict.condition = left_out + words;
  } else if (question.counts_events && std::ranges::any_of(compared.results, is_without_events)) {
    verdict.outcome = Outcome::kMeasured;
    verdict.condition = "arms and control without a single event test nothing; " + words;
  } else if (within.p < study::kLevel) {
    verdict.outcome = Outcome::kHoldsUnder;
    report(*within.on, verdict);
    set_p(verdict, within.p);
  } else if (seen.p < study::kLevel) {
    verdict.outcome = Outcome::kRefuted;
    report(*seen.on, verdict);
    verdict.witness = describe(*seen.on);
    set_p(verdict, seen.p);
    if (question.seen_refutes)
      verdict.condition =
          fmt::format("refuted by {}; {}", significant_ones(compared.results), words);
  } else {
    verdict.outcome = Outcome::kTooFewRuns;
    report(*within.on, verdict);  // the farthest from being shown to be small
    set_p(verdict, std::min(within.p, seen.p));
    verdict.condition = fmt::format("not all shown to lie within {} of zero{}: {}",
                                    margin_in_words(question.margin),
                                    what_would_show(*within.on, question.margin),
                                    words);
  }
  add_beside(study, question.beside, verdict);
  return verdict;
}

}  // namespace kappascope::theory
