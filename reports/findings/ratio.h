// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kappascope/store/run.h"

namespace kappascope::reports {

/// A quotient of two estimates with the interval that follows from theirs. Each holds with 95 %, so
/// both hold, and with them the quotient's, with at least 90 % whatever their dependence.
struct Ratio {
  double value = 0;
  std::optional<double> lower{}, upper{};
  std::int64_t step = 0;
  std::string layer{};
  bool paired = false;  ///< the interval is of the quotient itself, row by row, with 95 %

  [[nodiscard]] std::string certainty() const;
};

/// Nothing where one of them is missing, not resolved, or the quotient is no number.
std::optional<Ratio> ratio_of(const store::StepValue* above, const store::StepValue* below);

/// What the run measured of the same rows in pairs; ratio_of(above, below) where it did not, as
/// older versions, or where a side is not resolved.
std::optional<Ratio> paired_ratio(const store::StepValue* paired,
                                  const store::StepValue* above,
                                  const store::StepValue* below);

}  // namespace kappascope::reports
