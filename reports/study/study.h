// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kappascope/reports/comparison.h"
#include "kappascope/store/study/comparison.h"
#include "reports/arms.h"

namespace kappascope::reports {

/// The runs of a study in the order of its page, and what was compared.
struct Study {
  std::vector<store::RunEnd> runs{};
  std::string control{};
  std::vector<std::string> metrics{};
  std::vector<std::string> arms{};        ///< labels, the control first
  std::vector<std::string> conditions{};  ///< by their numbers; one, which is empty, without a grid
  std::vector<store::Comparison> comparisons{};  ///< by metric, condition, arm
  std::vector<Arm> results{};                    ///< what sweeps left beside their runs: verdicts

  [[nodiscard]] std::vector<const store::RunEnd*> runs_of(const std::string& arm,
                                                          const std::string& condition) const;
  /// nullptr where the two have no runs in common.
  [[nodiscard]] const store::Comparison* compared(const std::string& metric,
                                                  const std::string& condition,
                                                  const std::string& arm) const;
  /// The label's place among the arms.
  [[nodiscard]] std::size_t place_of(const std::string& arm) const;
};

/// Reads the runs' ends and compares them. Throws as html_comparison does.
Study read_study(const ComparisonPage& page);

/// Order of conditions: "dropout 0, noise 1" before "dropout 0.1, noise 0.3"; numbers as numbers.
bool condition_less(const std::string& a, const std::string& b);

/// Is it unlikely (5 %, over all comparisons) that the arms are alike?
bool told_apart(const store::Comparison& comparison);

}  // namespace kappascope::reports
