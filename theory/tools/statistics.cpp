// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/statistics.h"

#include <algorithm>
#include <cmath>

namespace kappascope::theory {

Interval wilson(double share, double n) {
  if (n <= 0) return {0, 1};
  constexpr double kZ = 1.959963984540054;
  const double z2 = kZ * kZ;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace kappascope::theory
