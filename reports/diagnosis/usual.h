// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "reports/runs/arms.h"

namespace kappascope::reports {

/// What layers of one width showed at one stage of trainings from the start, by
/// experiments/usual/ranges.py (usual.json).
struct Usual {
  double low = 0, high = 0;          ///< 10 and 90 % of the layers stay below
  std::size_t layers = 0, runs = 0;  ///< that it is of
  std::string of{};                  ///< "of 768 features in sequences, after 100 to 299 steps"
};
/// What is usual of a series of a layer at the last step at which the layer was measured; with a
/// bias what is usual without one. Nothing where no reference is as wide or as far.
std::optional<Usual> usual_of(const Arm& arm, const std::string& series, const std::string& layer);

/// How many layers of a run lie where their steps to learn 90 % usually lie, by the values alone;
/// of those that are resolved and have a reference.
struct LayersPlaced {
  std::size_t below = 0, within = 0, above = 0;
};
LayersPlaced placed_by_steps(const Arm& arm);

}  // namespace kappascope::reports
