// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/study/result.h"

namespace kappascope::reports {

/// A study in the order of its page.
struct StudyView {
  std::vector<study::RunEnd> runs{};
  std::string control{};
  std::vector<std::string> metrics{};     ///< in the order of the comparisons
  std::vector<std::string> arms{};        ///< labels, the control first
  std::vector<std::string> conditions{};  ///< by their numbers; one, which is empty, without a grid
  std::vector<study::Comparison> comparisons{};  ///< by metric, condition, arm
  std::vector<study::ClaimVerdict> verdicts{};

  [[nodiscard]] std::vector<const study::RunEnd*> runs_of(const std::string& arm,
                                                          const std::string& condition) const;
  /// nullptr where the two have no runs in common.
  [[nodiscard]] const study::Comparison* compared(const std::string& metric,
                                                  const std::string& condition,
                                                  const std::string& arm) const;
  /// The label's place among the arms.
  [[nodiscard]] std::size_t place_of(const std::string& arm) const;
};

/// Throws UsageError when nothing was compared.
StudyView view_of(const study::StudyResult& result, const std::vector<study::RunEnd>& runs);

/// Order of conditions: "dropout 0, noise 1" before "dropout 0.1, noise 0.3"; numbers as numbers.
bool condition_less(const std::string& a, const std::string& b);

}  // namespace kappascope::reports
