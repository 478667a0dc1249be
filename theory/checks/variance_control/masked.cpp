// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/variance_control/masked.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "theory/checks/variance_control/quadratic.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

LemmaTerms terms_of(const FiniteLaw& law, const Rational& b) {
  return {law.keep(), law.mean(), law.variance(), law.r2(), b};
}

/// The mask's first and second moment, q and w.
struct MaskMoments {
  Rational q, w;
};

MaskMoments mask_moments(const Rational& p, Scaling scaling) {
  return scaling == Scaling::kPlain ? MaskMoments{p, p} : MaskMoments{1, 1 / p};
}

template <typename Value>
Rational variance_of(const FiniteLaw& law, const Value& value) {
  const Rational mean = law.expectation(value);
  return law.expectation([&](const Atom& atom) -> Rational {
    const Rational centred = value(atom) - mean;
    return centred * centred;
  });
}

Rational variance_at(const FiniteLaw& law, const Rational& b, Dropout dropout, Quantity quantity) {
  const Rational keep = law.keep();
  return variance_of(law, [&](const Atom& atom) -> Rational {
    const Rational y = regressor(atom, b, keep, dropout);
    return quantity == Quantity::kGradient ? y * atom.gradient : y;
  });
}

/// What b is compared with: the mean of what it is added to, which it would have to cancel.
Rational centre(const LemmaTerms& terms, Dropout dropout) {
  const bool before = dropout.placement == Placement::kBeforeBias;
  return before ? mask_moments(terms.p, dropout.scaling).q * terms.mu : terms.mu;
}

std::vector<Rational> grid(const Rational& c) {
  return {-c, -2 * c, -3 * c, -c / 2, c, 1, -1, {1, 2}, {-1, 2}};
}

/// In the order in which the first of each group comes, so that the first witness is the smallest.
std::vector<std::vector<const FiniteLaw*>> laws_that_share_mask_and_gradient(
    const std::vector<FiniteLaw>& laws) {
  std::vector<std::vector<const FiniteLaw*>> groups;
  for (const auto& law : laws) {
    const auto home = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return group.front()->keep() == law.keep() && group.front()->r2() == law.r2();
    });
    if (home == groups.end()) {
      groups.push_back({&law});
    } else {
      home->push_back(&law);
    }
  }
  return groups;
}

bool is_nearer(const Rational& b, const Rational& c) {
  return (c + b) * (c + b) < c * c;
}

}  // namespace

Verdict check_masked_mean(const MaskedMean& formula,
                          Scaling scaling,
                          const std::vector<FiniteLaw>& laws) {
  const Dropout dropout{Placement::kBeforeBias, scaling};
  Tally tally;
  for (const auto& law : laws) {
    const Rational keep = law.keep();
    const Rational actual =
        law.expectation([&](const Atom& atom) { return regressor(atom, 0, keep, dropout); });
    const Rational stated = formula(terms_of(law, 0));
    tally.sizes(law.sizes());
    tally.compare(actual, stated, [&] {
      return fmt::format(
          "{}; {}: E[MS] = {}, the statement says {}", to_string(dropout), law, actual, stated);
    });
  }
  return tally.verdict("E[MS] by enumeration", "the formula", "exact");
}

MaskedMean derived_masked_mean(Scaling scaling) {
  return [scaling](const LemmaTerms& terms) { return mask_moments(terms.p, scaling).q * terms.mu; };
}

Verdict check_inflation(const MaskedPrediction& says,
                        Scaling scaling,
                        const std::vector<FiniteLaw>& laws) {
  const Dropout dropout{Placement::kBeforeBias, scaling};
  ConditionTally tally;
  for (const auto& law : laws) {
    const Rational masked = variance_at(law, 0, dropout, Quantity::kRegressor);
    const Rational plain = law.variance();
    tally.sizes(law.sizes());
    tally.record(masked > plain, says(terms_of(law, 0), dropout), [&] {
      return Witness{
          fmt::format("{}; {}: Var(MS) = {}, Var(S) = {}", to_string(dropout), law, masked, plain),
          masked.to_double(),
          plain.to_double()};
    });
  }
  return tally.verdict("Var(MS) by enumeration", "Var(S)", "exact");
}

std::optional<bool> mask_inflates(const LemmaTerms& terms, Dropout dropout) {
  const Rational mu2 = terms.mu * terms.mu;
  if (dropout.scaling == Scaling::kInverted) return terms.p < 1 && terms.variance + mu2 > 0;
  return terms.p < 1 && terms.p * mu2 > terms.variance;
}

Verdict check_reduction(const MaskedPrediction& says,
                        Quantity quantity,
                        Dropout dropout,
                        const std::vector<FiniteLaw>& laws) {
  const char* name = quantity == Quantity::kGradient ? "Var(g)" : "Var(y)";
  ConditionTally tally;
  for (const auto& law : laws) {
    auto terms = terms_of(law, 0);
    const Rational without = variance_at(law, 0, dropout, quantity);
    for (const Rational& b : grid(centre(terms, dropout))) {
      if (b == 0) continue;
      terms.b = b;
      const Rational with = variance_at(law, b, dropout, quantity);
      tally.sizes(law.sizes());
      tally.record(with < without, says(terms, dropout), [&] {
        return Witness{fmt::format("{}; {}: {} = {} at b = 0 and {} at b = {}",
                                   to_string(dropout),
                                   law,
                                   name,
                                   without,
                                   with,
                                   b),
                       with.to_double(),
                       without.to_double()};
      });
    }
  }
  return tally.verdict(fmt::format("{} at b", name), "the same at b = 0", "exact");
}

std::optional<bool> bias_reduces_gradient(const LemmaTerms& terms, Dropout dropout) {
  return terms.r2 > 0 && is_nearer(terms.b, centre(terms, dropout));
}

std::optional<bool> bias_reduces_regressor(const LemmaTerms& terms, Dropout dropout) {
  if (dropout.placement == Placement::kBeforeBias) return false;
  return terms.p < 1 && is_nearer(terms.b, terms.mu);
}

Verdict check_regressor_variance(const VarianceFormula& formula,
                                 Dropout dropout,
                                 const std::vector<FiniteLaw>& laws) {
  Tally tally;
  for (const auto& law : laws) {
    auto terms = terms_of(law, 0);
    for (const Rational& b : grid(centre(terms, dropout))) {
      terms.b = b;
      const Rational actual = variance_at(law, b, dropout, Quantity::kRegressor);
      const Rational stated = formula(terms);
      tally.sizes(law.sizes());
      tally.compare(actual, stated, [&] {
        return fmt::format("{}; {}, b = {}: Var(y) = {}, the formula says {}",
                           to_string(dropout),
                           law,
                           b,
                           actual,
                           stated);
      });
    }
  }
  return tally.verdict("Var(y) by enumeration", "the formula", "exact");
}

VarianceFormula derived_regressor_variance(Dropout dropout) {
  return [dropout](const LemmaTerms& terms) -> Rational {
    const auto [q, w] = mask_moments(terms.p, dropout.scaling);
    const bool before = dropout.placement == Placement::kBeforeBias;
    const Rational masked_mean = before ? terms.mu : terms.mu + terms.b;
    return w * terms.variance + (w - q * q) * masked_mean * masked_mean;
  };
}

Verdict check_total_reduction(const TotalPrediction& says,
                              Dropout dropout,
                              const std::vector<FiniteLaw>& laws) {
  ConditionTally tally;
  for (const auto& group : laws_that_share_mask_and_gradient(laws)) {
    for (std::size_t first = 0; first + 2 <= group.size(); ++first) {
      const std::size_t count = std::min<std::size_t>(2 + first % 2, group.size() - first);
      // Some features are moved towards their centre and others away from it.
      for (std::size_t choice = 0; choice < 5; ++choice) {
        std::vector<LemmaTerms> features;
        Rational without = 0, with = 0;
        std::string text;
        for (std::size_t j = 0; j < count; ++j) {
          const auto& law = *group[first + j];
          auto terms = terms_of(law, 0);
          terms.b = grid(centre(terms, dropout))[(choice + 2 * j) % 5];
          without += variance_at(law, 0, dropout, Quantity::kGradient);
          with += variance_at(law, terms.b, dropout, Quantity::kGradient);
          text += fmt::format("{}, b = {}; ", law, terms.b);
          features.push_back(std::move(terms));
        }
        tally.sizes({{"features", std::ssize(features)}});
        tally.record(with < without, says(features, dropout), [&] {
          return Witness{fmt::format("{}; {}sum of Var(g) = {} at b = 0 and {} at b",
                                     to_string(dropout),
                                     text,
                                     without,
                                     with),
                         with.to_double(),
                         without.to_double()};
        });
      }
    }
  }
  return tally.verdict("sum of Var(g) at b", "sum of Var(g) at 0", "exact");
}

std::optional<bool> bias_reduces_total(const std::vector<LemmaTerms>& features, Dropout dropout) {
  Rational without = 0, with = 0;
  for (const auto& terms : features) {
    const Rational c = centre(terms, dropout);
    without += c * c;
    with += (c + terms.b) * (c + terms.b);
  }
  return features.front().r2 > 0 && with < without;
}

Verdict check_shares(const SharesFormula& formula,
                     Dropout dropout,
                     const std::vector<FiniteLaw>& laws) {
  Tally tally;
  for (const auto& law : laws) {
    const auto terms = terms_of(law, 0);
    const auto variance = quadratic_of(
        [&](const Vector<Rational>& b) {
          return variance_at(law, b(0), dropout, Quantity::kGradient);
        },
        1);
    // A variance is never a sloping line, so there is a stationary point.
    const Vector<Rational> best = variance.stationary_point().value();
    const Rational q = mask_moments(terms.p, dropout.scaling).q;
    const bool before = dropout.placement == Placement::kBeforeBias;
    const Rational unmasked = variance_of(law, [&](const Atom& atom) -> Rational {
      const Rational y = before ? q * atom.feature + best(0) : q * (atom.feature + best(0));
      return y * atom.gradient;
    });
    const Rational least = variance.at(best);
    const Shares actual{variance.constant - least, least - unmasked};
    const auto stated = formula(terms, dropout);
    const bool agrees =
        actual.removed == stated.removed && actual.left_by_dropout == stated.left_by_dropout;
    tally.sizes(law.sizes());
    tally.record(agrees, [&] {
      return Witness{
          fmt::format("{}; {}: the best b, {}, takes away {} of Var(g) = {} and leaves {} "
                      "that is due to the mask; the statement says {} and {}",
                      to_string(dropout),
                      law,
                      best(0),
                      actual.removed,
                      variance.constant,
                      actual.left_by_dropout,
                      stated.removed,
                      stated.left_by_dropout),
          actual.removed.to_double(),
          stated.removed.to_double()};
    });
  }
  return tally.verdict("what the best b takes away", "the statement", "exact");
}

Shares derived_shares(const LemmaTerms& terms, Dropout dropout) {
  const auto [q, w] = mask_moments(terms.p, dropout.scaling);
  const Rational mu2 = terms.mu * terms.mu, spread = w - q * q;
  if (dropout.placement == Placement::kAfterBias) {
    return {terms.r2 * w * mu2, terms.r2 * spread * terms.variance};
  }
  return {terms.r2 * q * q * mu2, terms.r2 * spread * (terms.variance + mu2)};
}

}  // namespace kappascope::theory
