// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/isotropy/variance_ratio.h"

#include <fmt/format.h>

#include <string>

#include "theory/exact/enclosure.h"
#include "theory/tools/significance.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

/// c, between two fractions c = x/(1-x) with x a millionth apart.
Enclosure critical_ratio(int runs) {
  constexpr std::int64_t kParts = 1'000'000;
  const Rational wanted(39, 40);
  std::int64_t low = kParts / 2, high = kParts - 1;
  const auto ratio = [](std::int64_t x) { return Rational(x, kParts - x); };
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    const Enclosure reached = variance_ratio_cdf(ratio(middle), runs);
    if (reached.lower < wanted && wanted <= reached.upper) break;  // c is this one, nearly
    (reached.upper < wanted ? low : high) = middle;
  }
  return {ratio(low), ratio(high)};
}

/// P(ratio·F outside [1/c, c]), which falls with c; P(F > y) = P(F < 1/y).
Enclosure power_at(const Rational& c, const Rational& ratio, int runs) {
  return variance_ratio_cdf(1 / (c * ratio), runs) + variance_ratio_cdf(ratio / c, runs);
}

/// Whether a number is at least `threshold`; where its bounds do not tell, the case counts as
/// undecided.
void judge(const Enclosure& number,
           const Rational& threshold,
           bool stated,
           const std::string& text,
           Tally& tally) {
  if (number.lower < threshold && number.upper >= threshold) {
    tally.record_rounded(false, 0, 0, 0);
    return;
  }
  tally.record((number.lower >= threshold) == stated, [&] {
    return Witness{text + number.text(), number.lower.to_double(), threshold.to_double()};
  });
}

}  // namespace

Verdict check_variance_findings(const std::vector<VarianceFinding>& says) {
  Tally tally;
  for (const auto& one : says) {
    const Enclosure p = Enclosure(2) * variance_ratio_cdf(one.observed, one.runs);
    tally.sizes({{"runs", one.runs}});
    judge(p,
          Rational(1, 20),
          !one.shown,
          fmt::format("{} runs an arm, observed ratio {}: p is ", one.runs, one.observed),
          tally);
  }
  return tally.verdict("p of the observed ratio, two-sided", "5 %", "exact");
}

Verdict check_power(const std::vector<PowerStatement>& says) {
  Tally tally;
  for (const auto& one : says) {
    const Enclosure c = critical_ratio(one.runs);
    const Enclosure power{power_at(c.upper, one.ratio, one.runs).lower,
                          power_at(c.lower, one.ratio, one.runs).upper};
    tally.sizes({{"runs", one.runs}});
    judge(power,
          one.power,
          one.reached,
          fmt::format("{} runs an arm, true ratio {}: power ", one.runs, one.ratio),
          tally);
  }
  return tally.verdict("power of the test", "the power asked for", "exact");
}

}  // namespace kappascope::theory
