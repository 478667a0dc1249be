// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/findings/ratio.h"

namespace kappascope::reports {

/// In which numbers it is said what the mean costs and what a bias changes: in steps of gradient
/// descent to learn 90 % where any of the arms measured them, else in κ.
class Terms {
 public:
  explicit Terms(std::span<const Arm> arms);

  [[nodiscard]] bool in_steps() const { return in_steps_; }
  /// Layers of the arm that were measured in these numbers.
  [[nodiscard]] std::vector<std::string> layers(const Arm& arm) const;
  [[nodiscard]] std::optional<Ratio> mean_costs(const Arm& arm, const std::string& layer) const;
  [[nodiscard]] std::optional<Ratio> bias_leaves(const Arm& arm, const std::string& layer) const;
  [[nodiscard]] std::optional<Ratio> bias_changes(const Arm& arm, const std::string& layer) const;

 private:
  bool in_steps_;
};

}  // namespace kappascope::reports
