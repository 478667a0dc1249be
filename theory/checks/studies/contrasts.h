// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "theory/claim.h"

/// Statements about what a change of the model does to a training, decided on the runs of a study:
/// differences between arms, paired by seed, under each condition of the study. A verdict speaks of
/// these runs: "holds under a condition", the condition being that they are what is meant, or
/// "refuted" by a difference that cannot be chance, or "too few runs", with the number of pairs
/// that would find the smallest difference of interest. A claim asks one question, and its p is
/// that of the answer: of a statement on all of several contrasts the largest p (Berger 1982), of
/// "one of them is contrary" the smallest times their number. One-sided tests are doubled. So a
/// false statement is taken for true in at most 5 % of the studies, and a true one for false as
/// rarely where its differences are at least those of interest. Claims are corrected with each
/// other (study::control_false_discovery); what is reported beside a claim is not tested. A study
/// that lacks an arm or a quantity leaves its claim undecided and says which, and so does one of
/// which a pair is left out, because a run diverged or has no such value: what is left would be a
/// selection by outcome. Differences that are the same in every pair have no error that is known,
/// and decide nothing.
namespace kappascope::theory {

enum class Direction { kLower, kHigher };

/// What is too small to matter: an absolute difference, or a share of the control's median,
/// whichever is larger. Of a ratio the share alone: a factor of 1 + share, or its inverse.
struct Margin {
  double absolute = 0, share = 0;
};

/// One arm against another in one quantity (study::RunEnd::values).
struct Contrast {
  std::string metric, arm, control;
  Direction expected = Direction::kLower;
  std::string condition{};  ///< a part of the condition's name; empty: all conditions
  /// Compare logarithms, as of a positive quantity whose spread grows with its size: the difference
  /// is then told as a factor.
  bool ratio = false;
  std::optional<Margin> matters{};  ///< of this contrast, where not that of its question
};

/// The factor by which the arm has more, or less.
inline Contrast ratio_of(const std::string& metric,
                         const std::string& arm,
                         const std::string& control,
                         Direction expected = Direction::kLower) {
  return {.metric = metric, .arm = arm, .control = control, .expected = expected, .ratio = true};
}

struct DirectionQuestion {
  std::vector<Contrast> claimed;
  Margin matters;  ///< the smallest difference of interest in each of them
  /// What the document gives for the first contrast, from and to (of a ratio: the factor), in the
  /// direction that is expected.
  std::optional<std::pair<double, double>> size{};
  std::vector<Contrast> beside{};  ///< reported with the verdict, not part of it
};

/// "In every claimed contrast the arm differs in the expected direction." Otherwise refuted when
/// one of them differs in the other direction, or when one that is not seen to differ is shown to
/// fall short of the smallest difference of interest: of the first that is the document's size,
/// where it gives one.
Verdict check_direction(const StudyRuns& study, const DirectionQuestion& question);

struct NoEffectQuestion {
  std::vector<Contrast> claimed;
  Margin margin;
  /// Does a difference that is seen refute, unless it is shown to lie within the margin? Where the
  /// document says "no significant difference"; otherwise only one shown to lie beyond it.
  bool seen_refutes = false;
  /// Does only a difference in the expected direction matter, as of what is said to add nothing?
  bool one_sided = false;
  /// Does the metric count events? Then a contrast of arms that had none is no evidence of their
  /// absence, and the claim is measured, not decided.
  bool counts_events = false;
  std::vector<Contrast> beside{};
};

/// "No claimed contrast differs by more than the margin", which holds when all are shown to lie
/// within it (two one-sided tests each, of which the worst counts).
Verdict check_no_effect(const StudyRuns& study, const NoEffectQuestion& question);

/// One contrast over a whole grid of numbers.
struct PooledQuestion {
  Contrast contrast;
  /// Names of settings in the conditions ("dropout"): does the difference change with their value?
  std::vector<std::string> settings;
  Margin margin;                   ///< of the pooled difference
  std::vector<Contrast> beside{};  ///< their pooled differences, reported with the verdict
};

/// "The arm differs in the expected direction, over all conditions pooled, or the more the larger a
/// setting is." One value a seed and test: the mean of its differences over the conditions, and
/// their slope on each setting (least squares on all settings). Holds when one of the tests is
/// passed (Holm), a slope only where the pooled difference is not contrary; refuted when all of
/// them are shown to fall short: the pooled difference of the margin, a slope of what changes the
/// difference by the margin from the least value of its setting to the largest. Undecided where a
/// seed lacks a condition.
Verdict check_pooled(const StudyRuns& study, const PooledQuestion& question);

}  // namespace kappascope::theory
