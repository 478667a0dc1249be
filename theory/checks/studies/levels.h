// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "theory/checks/studies/contrasts.h"

namespace kappascope::theory {

/// A quantity of the runs of one arm, and the bound that it is said to stay on one side of.
struct LevelQuestion {
  std::string metric, arm;
  double bound = 0;
  Direction expected = Direction::kLower;
  std::vector<std::string> beside{};  ///< arms that are reported with the verdict
};

/// "The arm's mean over the seeds lies on the expected side of the bound", under each condition of
/// the study: by Student's t, one side doubled. Refuted where it is shown to lie beyond the bound
/// under one condition; too few runs otherwise. A run
/// without the quantity leaves the claim undecided.
Verdict check_level(const StudyRuns& study, const LevelQuestion& question);

}  // namespace kappascope::theory
