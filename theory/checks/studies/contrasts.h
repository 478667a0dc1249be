// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/theory/claim.h"

/// Statements about what a change of the model does to a training, decided on the runs of a study:
/// differences between arms, paired by seed, under each condition of the study. A verdict speaks of
/// these runs: "holds under a condition", the condition being that they are what is meant, or
/// "refuted" by a difference that cannot be chance, or "undecided", with the difference that as
/// many pairs would have found. The level is 5 % over all differences of one verdict (Holm). A
/// study that lacks an arm or a quantity leaves its claim undecided and says which.
namespace kappascope::theory {

enum class Direction { kLower, kHigher };

/// One arm against another in one quantity (study::RunEnd::values).
struct Contrast {
  std::string metric, arm, control;
  Direction expected = Direction::kLower;
  std::string condition{};  ///< a part of the condition's name; empty: all conditions
};

struct DirectionQuestion {
  std::vector<Contrast> claimed;
  /// What the document gives for the first contrast, from and to; the direction alone otherwise.
  std::optional<std::pair<double, double>> size{};
  std::vector<Contrast> beside{};  ///< reported with the verdict, not part of it
};

/// "In every claimed contrast the arm differs in the expected direction." Refuted when one of them
/// differs in the other direction, and when the first is not seen to differ and its 95 % interval
/// excludes the document's size.
Verdict check_direction(const StudyRuns& study, const DirectionQuestion& question);

/// "No claimed contrast differs by more than `margin` of the control's median", which holds when
/// every 95 % interval lies within; refuted when one lies outside and its difference is no chance.
/// Directions do not matter.
Verdict check_no_effect(const StudyRuns& study,
                        const std::vector<Contrast>& claimed,
                        double margin);

/// "Some claimed contrast differs, under some condition." Refuted when every 95 % interval lies
/// within `margin` of the control's median. Directions do not matter.
Verdict check_some_effect(const StudyRuns& study,
                          const std::vector<Contrast>& claimed,
                          double margin);

}  // namespace kappascope::theory
