// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "theory/checks/studies/contrasts.h"

namespace kappascope::theory {

/// Four arms: with both changes, with either alone, with neither.
struct InteractionQuestion {
  std::string metric, both, first, second, neither;
  std::string first_name, second_name;  ///< of the changes, in words
  Direction expected = Direction::kHigher;
  Margin matters;  ///< absolute: a share of an effect says little
};

/// "The first change does more, or less, where the second is made": the difference of its two
/// effects, paired by seed, as check_direction() decides one.
Verdict check_interaction(const StudyRuns& study, const InteractionQuestion& question);

}  // namespace kappascope::theory
