// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kappascope::store {

/// Outcomes of a stored verdict on which its evidence depends; a row may hold others.
inline constexpr const char *kHolds = "holds", *kHoldsUnder = "holds under a condition",
                            *kRefuted = "refuted";

/// On what a verdict rests, as it is stored.
struct Evidence {
  std::string outcome{};
  std::string proof{};  ///< where it is proved; empty: it was searched
  std::string sizes{};  ///< of the cases
  std::string route{};  ///< "exact", "search", "Monte Carlo", "measured run", "study"
  std::string cases{};  ///< how many
};

/// How sure a verdict is, and by what: "proved (theory/PROOFS.md 4); exact, 2200 cases, d = 1 to
/// 5", "searched: exact, 2200 cases, d = 1 to 5", "witness: exact, 2200 cases, d = 1 to 5", or for
/// what is measured its route and cases. Empty without a route.
std::string how_sure(const Evidence& evidence);

}  // namespace kappascope::store
