// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/asger/printed_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "theory/tools/significance.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

/// (95 %)², which the squared confidence of a test at 5 % reaches.
const Rational kEnough(361, 400);

struct Test {
  Rational t_squared;
  int degrees = 0;

  [[nodiscard]] Rational confidence_squared() const {
    return student_confidence_squared(t_squared, degrees);
  }
};

Rational t_squared(const Rational& difference, const Rational& a, const Rational& b, int runs) {
  return runs * difference * difference / (a * a + b * b);
}

/// The test at its weakest.
Test weakest(const ArmDifference& arms) {
  const Enclosure &a = arms.spread_a, &b = arms.spread_b;
  const bool equal = a.lower == a.upper && b.lower == b.upper && a.lower == b.lower;
  const int fewest = arms.runs - 1;
  return {t_squared(std::max(arms.difference.lower, Rational(0)), a.upper, b.upper, arms.runs),
          equal ? 2 * fewest : fewest - fewest % 2};
}

/// The test at its strongest.
Test strongest(const ArmDifference& arms) {
  return {t_squared(arms.difference.upper, arms.spread_a.lower, arms.spread_b.lower, arms.runs),
          2 * (arms.runs - 1)};
}

Witness describe(const ArmDifference& arms, const Test& test, const char* bound) {
  const double confidence = std::sqrt(test.confidence_squared().to_double());
  return {fmt::format("{}, {} runs an arm: t² is {} {} and {} degrees of freedom give P(|T| <= t) "
                      "{} {:.4f}",
                      arms.text,
                      arms.runs,
                      bound,
                      test.t_squared,
                      test.degrees,
                      bound,
                      confidence),
          confidence,
          0.95};
}

}  // namespace

Verdict check_token_budget(const TokenBudget& says) {
  Tally tally;
  const Enclosure tokens = says.steps * says.batch;
  tally.record(overlap(tokens, says.total), [&] {
    return Witness{fmt::format("{}: the product is in [{}, {}], the total in [{}, {}]",
                               says.text,
                               tokens.lower,
                               tokens.upper,
                               says.total.lower,
                               says.total.upper),
                   tokens.lower.to_double(),
                   says.total.lower.to_double()};
  });
  return tally.verdict("steps times batch, at least", "stated total, at least", "exact");
}

Verdict check_tokens_suffice(const TokenBudget& says) {
  Tally tally;
  const Enclosure tokens = says.steps * says.batch;
  tally.record(tokens.upper <= says.total.lower, [&] {
    return Witness{fmt::format("{}: at most {} tokens are read, at least {} are there",
                               says.text,
                               tokens.upper,
                               says.total.lower),
                   tokens.upper.to_double(),
                   says.total.lower.to_double()};
  });
  return tally.verdict("tokens read, at most", "tokens there, at least", "exact");
}

TokenBudget published_budget() {
  const Enclosure million = Enclosure(1'000'000), billion = Enclosure(1'000'000'000);
  return {"399 steps of 4M tokens, 2.9B tokens",
          Enclosure(399),
          as_printed("4") * million,
          as_printed("2.9") * billion};
}

std::vector<TokenBudget> derived_budgets() {
  const Enclosure four_million = Enclosure(4'000'000), power_of_two = Enclosure(1 << 22);
  return {{"399 steps of 4·10⁶", Enclosure(399), four_million, Enclosure(1'596'000'000)},
          {"399 steps of 2²²", Enclosure(399), power_of_two, Enclosure(1'673'527'296)},
          {"725 steps of 4·10⁶", Enclosure(725), four_million, Enclosure(2'900'000'000)}};
}

Verdict check_findings(const std::vector<Finding>& says) {
  Tally tally;
  for (const auto& [arms, shown] : says) {
    if (weakest(arms).confidence_squared() >= kEnough) {
      tally.record(shown, [&, &arms = arms] { return describe(arms, weakest(arms), "at least"); });
    } else if (strongest(arms).confidence_squared() < kEnough) {
      tally.record(!shown,
                   [&, &arms = arms] { return describe(arms, strongest(arms), "at most"); });
    } else {
      tally.record_rounded(false, 0, 0, 0);
    }
  }
  return tally.verdict("P(|T| <= t) of a difference", "95 %, which shows it", "exact");
}

std::vector<ArmDifference> published_differences() {
  const Enclosure asger = as_printed("0.02"), swiglu = as_printed("0.01");
  return {
      {"5.08 ± 0.02 against 4.93 ± 0.01", as_printed("5.08") - as_printed("4.93"), asger, swiglu},
      {"5.67 against 5.89 at spreads of 0.02",
       as_printed("5.89") - as_printed("5.67"),
       asger,
       asger},
      {"0.02 at spreads of 0.02", as_printed("0.02"), asger, asger}};
}

std::vector<Finding> bracketing_findings() {
  const auto ablation = [](const Rational& spread, const char* text, bool shown) {
    return Finding{{text, Enclosure(Rational{22, 100}), Enclosure(spread), Enclosure(spread)},
                   shown};
  };
  const auto spatial = [](int runs, bool shown) {
    const Enclosure value = Enclosure(Rational{2, 100});
    return Finding{{"0.02 at spreads of 0.02", value, value, value, runs}, shown};
  };
  return {ablation({97, 1000}, "5.67 against 5.89 at spreads of 0.097", true),
          ablation({98, 1000}, "5.67 against 5.89 at spreads of 0.098", false),
          spatial(8, false),
          spatial(9, true)};
}

}  // namespace kappascope::theory
