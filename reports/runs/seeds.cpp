// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/seeds.h"

#include <algorithm>

namespace kappascope::reports {

SeedValue seed_value(const store::Scalar& scalar) {
  if (scalar.lower || scalar.upper || !is_resolved(scalar))
    return {scalar.value, scalar.lower, scalar.upper};
  return {scalar.value, scalar.value, scalar.value};
}

SeedRange range_over_seeds(const std::vector<SeedValue>& seeds) {
  constexpr std::size_t kEnough = 6;
  if (seeds.empty()) return {};
  const auto known = [](const SeedValue& one) { return one.lower && one.upper; };
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
