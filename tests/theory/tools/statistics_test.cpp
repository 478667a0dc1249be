// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/statistics.h"

#include <cmath>

#include "support/catch.h"

using namespace kappascope::theory;

TEST_CASE("the score interval satisfies its own equation at both ends") {
  const double share = 0.3, n = 20;
  const auto interval = wilson(share, n);
  for (const double end : {interval.lower, interval.upper}) {
    const double z = (share - end) / std::sqrt(end * (1 - end) / n);
    CHECK(std::abs(z) == Approx(1.959963984540054));
  }
}

TEST_CASE("the score interval is not empty at the ends and knows nothing without data") {
  CHECK(wilson(1, 3).lower < 0.6);
  CHECK(wilson(1, 3).upper == Approx(1));
  CHECK(wilson(0, 3).lower == Approx(0).margin(1e-12));
  CHECK(wilson(0.5, 0).lower == 0);
  CHECK(wilson(0.5, 0).upper == 1);
}
