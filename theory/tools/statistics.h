// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kappascope::theory {

struct Interval {
  double lower = 0, upper = 0;
};

/// The 95 % score interval of a share seen in n independent observations (Wilson 1927); n need not
/// be whole. It stays inside [0, 1] and is not empty at a share of 0 or 1. n = 0 gives [0, 1].
Interval wilson(double share, double n);

}  // namespace kappascope::theory
