// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kappascope/core/statistics.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

/// The runs as a report compares them: those that differ in their seed alone are one arm, the
/// median over them (runs/median_arm), and the others are arms of their own. The runs must outlive
/// it.
class Groups {
 public:
  explicit Groups(const std::vector<Arm>& runs);

  /// In the order of their first runs.
  [[nodiscard]] const std::vector<Arm>& arms() const { return own_.empty() ? *runs_ : own_; }
  /// Whether any arm stands for several runs.
  [[nodiscard]] bool any() const { return !own_.empty(); }

 private:
  const std::vector<Arm>* runs_;
  std::vector<Arm> own_;  // empty where each run is an arm
};

/// The runs behind the arms: each arm itself, or those that it is the median of.
std::vector<const Arm*> runs_of(const std::vector<Arm>& arms);
std::vector<const Arm*> runs_of(const Arm& arm);

/// `a` minus `b`, by the last values that the runs of both have under one seed. A seed that an arm
/// has twice is no pair, and a failed run is in none.
PairedDifference difference_by_seed(const Arm& a, const Arm& b, const std::string& series);

inline constexpr const char* kComparePairs =
    "`kappascope compare` tests differences by pairs of seeds";

/// What would separate a difference between the arms from chance: "`kappascope sweep` runs several
/// seeds". Where they are of a study, or have several seeds, what to do about those.
std::string how_to_be_surer(const std::vector<Arm>& arms);

}  // namespace kappascope::reports
