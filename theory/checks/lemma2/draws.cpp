// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/lemma2/draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "theory/tools/random.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kDraws = 100'000;
constexpr double kMostErrors = 6.5;

// Values of g with their probabilities added up.
struct Outcomes {
  std::vector<double> value, cumulative;
  double variance = 0, error = 0;  // of g, and of the variance of kDraws draws
};

Outcomes outcomes_of(const FiniteLaw& law, const Rational& b, Dropout dropout) {
  Outcomes out;
  std::vector<double> weight;
  double mean = 0, total = 0;
  for (const auto& atom : law.atoms()) {
    out.value.push_back((regressor(atom, b, law.keep(), dropout) * atom.gradient).to_double());
    weight.push_back(atom.weight.to_double());
    total += weight.back();
    out.cumulative.push_back(total);
    mean += weight.back() * out.value.back();
  }
  double fourth = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const double square = (out.value[i] - mean) * (out.value[i] - mean);
    out.variance += weight[i] * square;
    fourth += weight[i] * square * square;
  }
  out.error = std::sqrt((fourth - out.variance * out.variance) / kDraws);
  return out;
}

double drawn_variance(const Outcomes& outcomes, Random& random) {
  // About the first value, so that a large mean costs no digits.
  const double origin = outcomes.value.front();
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto place = std::upper_bound(
        outcomes.cumulative.begin(), outcomes.cumulative.end() - 1, random.uniform());
    const auto index = static_cast<std::size_t>(place - outcomes.cumulative.begin());
    const double x = outcomes.value[index] - origin;
    sum += x;
    squares += x * x;
  }
  return (squares - sum * sum / kDraws) / (kDraws - 1);
}

}  // namespace

Verdict check_variance_by_draws(const VarianceFormula& formula,
                                Dropout dropout,
                                const std::vector<FiniteLaw>& laws,
                                std::uint64_t seed) {
  Random random(seed);
  Tally tally;
  for (const auto& law : laws) {
    auto terms = terms_of(law);
    const Rational centred = -(terms.p * terms.mu);
    for (const Rational& b : {Rational(0), Rational(1), centred}) {
      terms.b = b;
      const auto outcomes = outcomes_of(law, b, dropout);
      // √(m₄ - v²) is zero for two equally likely values too: their sample variance hardly varies.
      const double error = std::max(outcomes.error, outcomes.variance / kDraws);
      if (error == 0) continue;
      const double drawn = drawn_variance(outcomes, random);
      const double stated = formula(terms).to_double();
      tally.sizes(law.sizes());
      tally.record(std::abs(drawn - stated) <= kMostErrors * error, [&] {
        return Witness{
            fmt::format("{}; {}, b = {}: Var(g) = {:.3g} ± {:.2g} by {} draws, the formula "
                        "says {:.3g}",
                        to_string(dropout),
                        law,
                        b,
                        drawn,
                        kMostErrors * error,
                        kDraws,
                        stated),
            drawn,
            stated};
      });
    }
  }
  auto verdict = tally.verdict("Var(g) by Monte Carlo", "the formula", "Monte Carlo");
  if (verdict.outcome == Outcome::kHolds) verdict.witness.clear();
  return verdict;
}

}  // namespace kappascope::theory
