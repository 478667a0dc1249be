// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "lab/study/run_ends.h"

namespace kappascope::study {

/// Where a claim speaks: what the control must show before a difference from it says anything about
/// the document. A document that has its control at 14 % says nothing about one at 0.2 %.
struct Regime {
  std::string metric{}, arm{};
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

/// Reads "METRIC of ARM between A and B", "METRIC of ARM at least A" or "METRIC of ARM at most B".
/// Throws UsageError that begins with `where`.
Regime parse_regime(const std::string& text, const std::string& where);

/// As parse_regime() reads it.
std::string to_string(const Regime& regime);

/// The runs of the conditions in which every regime is reached, by the median over the arm's runs.
struct RegimeRuns {
  std::vector<RunEnd> runs{};
  std::vector<std::string> reached{};  ///< conditions
  /// For each condition that is left out what its control shows: "accuracy/test of no bias has
  /// median 0.1 under rate 1"; for an arm that no run has, that.
  std::vector<std::string> missed{};
};
RegimeRuns in_regime(const std::vector<RunEnd>& runs, const std::vector<Regime>& regimes);

}  // namespace kappascope::study
