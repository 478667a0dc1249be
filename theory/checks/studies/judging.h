// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/study/comparison.h"
#include "theory/checks/studies/contrasts.h"

/// What the checks of contrasts share: the comparisons of one verdict, and its numbers and words.
namespace kappascope::theory {

/// What a study holds of a contrast: a comparison a condition, or what it lacks.
struct ArmPairs {
  std::vector<study::Comparison> comparisons;
  std::string lacking;
};

ArmPairs compare_arms(const StudyRuns& study, const Contrast& contrast);

/// One contrast under one condition. Of a ratio the comparison is one of logarithms.
struct ContrastResult {
  Contrast contrast;
  study::Comparison found;
  double p = 0;  ///< two-sided, of no difference; NaN where nothing tells it

  [[nodiscard]] const PairedDifference& difference() const { return found.difference; }
  [[nodiscard]] bool is_significant() const { return p < study::kLevel; }
  [[nodiscard]] bool as_expected() const {
    return (difference().mean < 0) == (contrast.expected == Direction::kLower);
  }
};

/// One contrast as a sentence: who against whom, by how much, with interval and pairs.
std::string describe(const ContrastResult& result);

struct ContrastResults {
  std::vector<ContrastResult> results;
  std::string lacking;
};

/// Every contrast under every condition, one whose numbers are those of an earlier condition left
/// out; or what the study lacks.
ContrastResults find_contrasts(const StudyRuns& study, const std::vector<Contrast>& contrasts);

enum class WithP { kYes, kNo };
/// Descriptions, each with the p of its contrast alone where it is tested.
std::string in_words(const std::vector<ContrastResult>& results, WithP with_p);

/// The numbers of one contrast as those of the verdict: the most telling result.
void report(const ContrastResult& result, Verdict& verdict);

/// A verdict without an outcome, with the numbers of the first contrast and the words of all.
Verdict begin(const ContrastResults& compared, const std::string& right);

/// Nothing for NaN.
void set_p(Verdict& verdict, double p);

/// How many pairs find a mean of `value` in four studies of five at kLevel, if differences spread
/// as these do; nothing below two pairs, where they do not spread, and beyond a million.
std::optional<std::int64_t> pairs_needed(const PairedDifference& d, double value);

/// The smallest difference that matters, on the scale of the comparison: by the contrast's own
/// margin, or by this one.
double bound_of(const Margin& margin, const ContrastResult& result);
/// Of the whole group: "1 % of the control".
std::string margin_in_words(const Margin& margin);

/// The p of "the mean lies within ±bound": two one-sided tests, doubled: below a level where the
/// interval of that level lies within. 1 for differences that are the same in every pair, here and
/// below.
double p_of_within(const PairedDifference& d, double bound);
/// The p of "the mean lies beyond ±bound": twice one side.
double p_of_beyond(const PairedDifference& d, double bound);
/// The p of "the difference falls short of the bound in the expected direction": twice one side.
double p_of_short(const ContrastResult& result, double bound);
/// The p of "it lies beyond the bound in the expected direction".
double p_of_passing(const ContrastResult& result, double bound);

/// Of which contrast pairs are left out, and that nothing is decided then; empty where none is.
std::string what_is_left_out(const std::vector<ContrastResult>& results);

/// A p and the contrast that it rests on.
struct Test {
  double p = 1;
  const ContrastResult* on = nullptr;
};

/// "One of the results has it": the smallest p times their number, and whose it is; results for
/// which `p_of` gives NaN have none.
Test any_of(const std::vector<ContrastResult>& results,
            const std::function<double(const ContrastResult&)>& p_of);
/// "All results have it": the largest p, and whose it is. One NaN decides: 1.
Test all_of(const std::vector<ContrastResult>& results,
            const std::function<double(const ContrastResult&)>& p_of);

}  // namespace kappascope::theory
