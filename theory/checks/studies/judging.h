// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// One comparison as a sentence: who against whom, by how much, with interval, pairs and p.
std::string describe(const study::Comparison& comparison);

/// One contrast under one condition.
struct ContrastResult {
  Contrast contrast;
  study::Comparison found;

  [[nodiscard]] const PairedDifference& difference() const { return found.difference; }
  [[nodiscard]] bool is_significant() const { return found.is_significant(); }
  [[nodiscard]] bool as_expected() const {
    return (difference().mean < 0) == (contrast.expected == Direction::kLower);
  }
};

struct ContrastResults {
  std::vector<ContrastResult> results;
  std::string lacking;
};

/// Every contrast under every condition, each joined to the family, and one whose numbers are those
/// of an earlier condition left out; or what the study lacks.
ContrastResults find_contrasts(const StudyRuns& study,
                               const std::vector<Contrast>& contrasts,
                               study::Family& family);

/// Fills in what all tests of the family together leave of each p.
void correct(ContrastResults& compared, const study::Family& family);

std::string in_words(const std::vector<ContrastResult>& results);

/// The numbers of one contrast as those of the verdict: the most telling result.
void report(const ContrastResult& result, Verdict& verdict);

/// A verdict without an outcome, with the numbers of the first contrast and the words of all.
Verdict begin(const ContrastResults& compared, const std::string& right);

/// Nothing for NaN.
void set_p(Verdict& verdict, double p);

/// The largest corrected p of all: that of the statement that every one of them differs.
double largest_p(const std::vector<ContrastResult>& results);

/// The largest difference that one of the contrasts would miss, as the begin of a sentence.
std::string what_was_missed(const std::vector<ContrastResult>& results, double level);

double bound_of(const Margin& margin, const study::Comparison& found);
std::string margin_in_words(const Margin& margin);

/// The p of "the mean lies within ±bound": two one-sided tests, doubled: below a level where the
/// interval of that level lies within. 0 for differences that are the same in every pair and lie
/// within.
double p_of_within(const PairedDifference& d, double bound);

/// The p of "the mean lies beyond ±bound": twice one side.
double p_of_beyond(const PairedDifference& d, double bound);

/// The name of a test that is not one comparison's.
std::string test_name(const std::string& what, const std::vector<Contrast>& contrasts);

}  // namespace kappascope::theory
