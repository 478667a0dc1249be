// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "reports/number_format.h"
#include "reports/summary.h"

namespace kappascope::reports {

// One question each.
Answer worst_layer(const std::vector<Arm>& arms);
/// The same by steps of gradient descent; nothing where no run has measured them.
std::optional<Answer> slowest_layer(const std::vector<Arm>& arms);
Answer learning_rate(const std::vector<Arm>& arms);
Answer bias(const std::vector<Arm>& arms);
Answer cost(const std::vector<Arm>& arms);
Answer trust(const std::vector<Arm>& arms);

/// Steps that were trained, as far as they are stored.
inline double steps_of(const Arm& arm) {
  return static_cast<double>(arm.last_step + 1);
}

}  // namespace kappascope::reports
