// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

struct ProbeCost {
  std::string probe{};
  double share = 0;                ///< of the training time
  std::optional<double> budget{};  ///< share that it may take, 0: any; where the run says
};

/// What probing took of a run, as it stored last.
struct Costs {
  double total = 0;                 ///< hooks and storing are in it, and in no probe's share
  std::vector<ProbeCost> probes{};  ///< the largest first

  /// Of all probes together, where each has one; 0: none.
  [[nodiscard]] double budget() const;
  /// Whether any probe, or every one, may take what it wants.
  [[nodiscard]] bool any_unlimited() const;
  [[nodiscard]] bool all_unlimited() const;
};
/// Nothing before the first window.
std::optional<Costs> costs_of(const Arm& arm);

}  // namespace kappascope::reports
