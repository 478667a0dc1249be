// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/lemma2/variance.h"

#include <fmt/format.h>

#include <string>

#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

/// First and second moment of the mask.
struct MaskMoments {
  Rational first, second;
};

MaskMoments mask_moments(const Rational& p, Scaling scaling) {
  return scaling == Scaling::kPlain ? MaskMoments{p, p} : MaskMoments{1, 1 / p};
}

/// Var(y r) as a sum over all outcomes.
Rational enumerated_variance(const FiniteLaw& law, const Rational& b, Dropout dropout) {
  const Rational keep = law.keep();
  Rational first = 0, second = 0;
  for (const auto& atom : law.atoms()) {
    const Rational g = regressor(atom, b, keep, dropout) * atom.gradient;
    first += atom.weight * g;
    second += atom.weight * g * g;
  }
  return second - first * first;
}

JointMoments joint_moments(const FiniteLaw& law, const Rational& b) {
  const auto y = [&](const Atom& atom) { return regressor(atom, b, 1, {}); };
  JointMoments moments;
  moments.y2 = law.expectation([&](const Atom& atom) { return y(atom) * y(atom); });
  moments.r2 = law.r2();
  moments.covariance = law.expectation([&](const Atom& atom) {
    return (y(atom) * y(atom) - moments.y2) * (atom.gradient * atom.gradient - moments.r2);
  });
  moments.mean = law.expectation([&](const Atom& atom) { return y(atom) * atom.gradient; });
  return moments;
}

std::optional<Minimum> enumerated_minimum(const FiniteLaw& law, Dropout dropout) {
  const Rational at_zero = enumerated_variance(law, 0, dropout);
  const Rational at_one = enumerated_variance(law, 1, dropout);
  const Rational at_minus_one = enumerated_variance(law, -1, dropout);
  const Rational curvature = (at_one + at_minus_one) / 2 - at_zero;
  const Rational slope = (at_one - at_minus_one) / 2;
  if (curvature == 0) return std::nullopt;  // a variance cannot be a sloping line
  const Rational location = -slope / (2 * curvature);
  return Minimum{location, enumerated_variance(law, location, dropout)};
}

std::string text(const std::optional<Minimum>& minimum) {
  if (!minimum) return "every b is as good";
  return fmt::format("minimum {} at b = {}", minimum->value, minimum->location);
}

bool same(const std::optional<Minimum>& a, const std::optional<Minimum>& b) {
  if (!a || !b) return !a && !b;
  return a->location == b->location && a->value == b->value;
}

}  // namespace

LemmaTerms terms_of(const FiniteLaw& law) {
  return {law.keep(), law.mean(), law.variance(), law.r2(), 0};
}

Rational published_variance(const LemmaTerms& terms) {
  const Rational shifted = terms.p * terms.mu + terms.b;
  return terms.r2 * (terms.p * terms.variance + shifted * shifted);
}

VarianceFormula derived_variance(Dropout dropout) {
  return [dropout](const LemmaTerms& terms) {
    const auto [first, second] = mask_moments(terms.p, dropout.scaling);
    if (dropout.placement == Placement::kAfterBias) {
      const Rational shifted = terms.mu + terms.b;
      return terms.r2 * second * (terms.variance + shifted * shifted);
    }
    const Rational shifted = first * terms.mu + terms.b;
    return terms.r2 * (second * terms.variance + (second - first * first) * terms.mu * terms.mu +
                       shifted * shifted);
  };
}

Verdict check_variance(const VarianceFormula& formula,
                       Dropout dropout,
                       const std::vector<FiniteLaw>& laws) {
  Tally tally;
  for (const auto& law : laws) {
    auto terms = terms_of(law);
    const Rational centred = -(terms.p * terms.mu);
    for (const Rational& b : {Rational(0), Rational(1), Rational(-1), Rational(1, 2), centred}) {
      terms.b = b;
      const Rational actual = enumerated_variance(law, b, dropout);
      const Rational stated = formula(terms);
      tally.sizes(law.sizes());
      tally.compare(actual, stated, [&] {
        return fmt::format("{}; {}, b = {}: Var(g) = {}, the formula says {}",
                           to_string(dropout),
                           law,
                           b,
                           actual,
                           stated);
      });
    }
  }
  return tally.verdict("Var(g) by enumeration", "the formula", "exact");
}

std::optional<Minimum> published_minimum(const LemmaTerms& terms) {
  return Minimum{-(terms.p * terms.mu), terms.r2 * terms.p * terms.variance};
}

MinimumFormula derived_minimum(Dropout dropout) {
  return [dropout](const LemmaTerms& terms) -> std::optional<Minimum> {
    if (terms.r2 == 0) return std::nullopt;
    const auto [first, second] = mask_moments(terms.p, dropout.scaling);
    auto at = terms;
    at.b = dropout.placement == Placement::kAfterBias ? -terms.mu : -(first * terms.mu);
    return Minimum{at.b, derived_variance(dropout)(at)};
  };
}

std::optional<Minimum> dependent_minimum(const FiniteLaw& law, Dropout dropout) {
  const Rational keep = law.keep();
  // y = x + b k, so g = x r + b k r: a regression of x r on k r.
  const auto xr = [&](const Atom& atom) -> Rational {
    return regressor(atom, 0, keep, dropout) * atom.gradient;
  };
  const auto kr = [&](const Atom& atom) -> Rational {
    return (regressor(atom, 1, keep, dropout) - regressor(atom, 0, keep, dropout)) * atom.gradient;
  };
  const Rational mean_xr = law.expectation(xr), mean_kr = law.expectation(kr);
  const auto spread = [&](const auto& a, const auto& b, const Rational& of_means) -> Rational {
    return law.expectation([&](const Atom& atom) { return a(atom) * b(atom); }) - of_means;
  };
  const Rational variance_kr = spread(kr, kr, mean_kr * mean_kr);
  if (variance_kr == 0) return std::nullopt;
  const Rational covariance = spread(xr, kr, mean_xr * mean_kr);
  return Minimum{-covariance / variance_kr,
                 spread(xr, xr, mean_xr * mean_xr) - covariance * covariance / variance_kr};
}

Verdict check_minimum_of_law(const LawMinimum& formula,
                             Dropout dropout,
                             const std::vector<FiniteLaw>& laws) {
  Tally tally;
  for (const auto& law : laws) {
    const auto actual = enumerated_minimum(law, dropout);
    const auto stated = formula(law, dropout);
    tally.sizes(law.sizes());
    tally.record(same(actual, stated), [&] {
      return Witness{fmt::format("{}; {}: {}, the statement says {}",
                                 to_string(dropout),
                                 law,
                                 text(actual),
                                 text(stated)),
                     actual ? actual->value.to_double() : 0,
                     stated ? stated->value.to_double() : 0};
    });
  }
  return tally.verdict("min over b of Var(g), by enumeration", "the stated minimum", "exact");
}

Verdict check_minimum(const MinimumFormula& formula,
                      Dropout dropout,
                      const std::vector<FiniteLaw>& laws) {
  return check_minimum_of_law(
      [&](const FiniteLaw& law, Dropout) { return formula(terms_of(law)); }, dropout, laws);
}

Verdict check_decomposition(const Decomposition& formula, const std::vector<FiniteLaw>& laws) {
  Tally tally;
  for (const auto& law : laws) {
    for (const Rational& b : {Rational(0), Rational(1), Rational(-1, 2)}) {
      const Rational actual = enumerated_variance(law, b, {});
      const Rational stated = formula(joint_moments(law, b));
      tally.sizes(law.sizes());
      tally.compare(actual, stated, [&] {
        return fmt::format("{}, b = {}: Var(g) = {}, the formula says {}", law, b, actual, stated);
      });
    }
  }
  return tally.verdict("Var(g) by enumeration", "the formula", "exact");
}

Verdict check_product_condition(const MomentCondition& condition,
                                const std::vector<FiniteLaw>& laws) {
  Tally tally;
  bool seen_true = false, seen_false = false;
  for (const auto& law : laws) {
    for (const Rational& b : {Rational(0), Rational(1), Rational(-1, 2)}) {
      const auto moments = joint_moments(law, b);
      const Rational actual = enumerated_variance(law, b, {});
      const Rational product = moments.y2 * moments.r2;
      const bool predicted = condition(moments);
      (predicted ? seen_true : seen_false) = true;
      tally.sizes(law.sizes());
      tally.record((actual == product) == predicted, [&] {
        return Witness{
            fmt::format("{}, b = {}: Var(g) = {}, E[y²]E[r²] = {}", law, b, actual, product),
            actual.to_double(),
            product.to_double()};
      });
    }
  }
  auto verdict = tally.verdict("Var(g) by enumeration", "E[y²]E[r²]", "exact");
  if (verdict.outcome == Outcome::kHolds && !(seen_true && seen_false)) {
    verdict.outcome = Outcome::kUndecided;
  }
  return verdict;
}

}  // namespace kappascope::theory
