// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "kappascope/store/record.h"

namespace kappascope::reports {

/// What one run knows of a number. An end that is not known is none.
struct SeedValue {
  double value = 0;
  std::optional<double> lower{}, upper{};
  bool resolved = true;
};
/// `exact`: it is of a series without intervals, such as a loss, and is its own ends.
SeedValue seed_value(const store::Scalar& scalar, bool exact);

struct SeedRange {
  std::optional<double> lower{}, upper{};
};
/// Where the median over all seeds may lie. Of six seeds or more, each of them resolved, the lowest
/// and the highest value hold it with 1 − 2^(1−n), about 97 % or more (order statistics). Of fewer
/// it reaches as far as the interval of any of them, so that a median is never surer than each of
/// its seeds. Nothing of one number without an interval.
SeedRange range_over_seeds(const std::vector<SeedValue>& seeds);

}  // namespace kappascope::reports
