// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/seeds.h"

#include <algorithm>
#include <cmath>

namespace kappascope::reports {

SeedValue seed_value(const store::Scalar& scalar, bool exact) {
  const bool resolved = is_resolved(scalar);
  if (exact && resolved && !std::isnan(scalar.value))
    return {scalar.value, scalar.value, scalar.value};
  return {scalar.value, scalar.lower, scalar.upper, resolved};
}

SeedRange range_over_seeds(const std::vector<SeedValue>& seeds) {
  constexpr std::size_t kEnough = 6;
  if (seeds.empty()) return {};
  const auto known = [](const SeedValue& one) {
    return one.resolved && one.lower && one.upper && !std::isnan(one.value);
  };
  if (seeds.size() >= kEnough && std::ranges::all_of(seeds, known)) {
    const auto [low, high] = std::ranges::minmax(seeds, {}, &SeedValue::value);
    return {low.value, high.value};
  }
  SeedRange out{seeds.front().lower, seeds.front().upper};
  for (const auto& one : seeds) {
    out.lower =
        out.lower && one.lower ? std::optional(std::min(*out.lower, *one.lower)) : std::nullopt;
    out.upper =
        out.upper && one.upper ? std::optional(std::max(*out.upper, *one.upper)) : std::nullopt;
  }
  return seeds.size() == 1 && out.lower == out.upper ? SeedRange{} : out;
}

}  // namespace kappascope::reports
