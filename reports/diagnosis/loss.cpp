// SPDX-License-Identifier: Apache-2.0
// Do the last test losses of two arms differ by more than chance?
#include <cmath>

#include "reports/diagnosis/questions.h"
#include "reports/runs/groups.h"

namespace kappascope::reports {

std::optional<LossDifference> diagnose_loss(const Arm& arm, const Arm& base) {
  if (!same_problem(base, arm)) return std::nullopt;
  LossDifference out{difference_by_seed(arm, base, id::kLossTest)};
  if (std::isnan(out.difference.lower)) return std::nullopt;
  out.side = side_of(out.difference.lower, out.difference.upper, 0);
  return out;
}

}  // namespace kappascope::reports
