// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/centring/second_moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "theory/checks/centring/token_laws.h"
#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kExactDraws = 2000, kEnclosedDraws = 200;

Verdict check_drop(const NormDrop& drop, bool projected, std::uint64_t seed) {
  Tally tally;
  for (const auto& law : token_laws(seed, kExactDraws)) {
    const auto norm = [&](const Matrix<Rational>& x) {
      return projected ? (x * law.up).squared_norm() : x.squared_norm();
    };
    const Rational before = law.expectation(norm), after = law.centred().expectation(norm);
    const Rational stated = drop(law.tokens(), norm(law.mean_row()));
    tally.sizes(law.sizes());
    tally.compare(before - after, stated, [&] {
      return fmt::format(
          "{}: {} becomes {}, the statement takes away {}", law, before, after, stated);
    });
  }
  return projected ? tally.verdict("E‖U‖² - E‖U'‖²", "the stated drop", "exact")
                   : tally.verdict("E‖X‖² - E‖X'‖²", "the stated drop", "exact");
}

Enclosure activated(const Rational& g, Activation activation) {
  return activation == Activation::kLinear ? Enclosure(g) : silu_enclosure(g);
}

Enclosure square(const Enclosure& a) {
  return a * a;
}

ProductTerms terms_of(const TokenLaw& law, Activation activation) {
  ProductTerms terms;
  Enclosure joint;
  for (const auto& [probability, x] : law.outcomes) {
    const Matrix<Rational> u = x * law.up, g = x * law.gate;
    Enclosure largest, product;
    for (Index i = 0; i < g.size(); ++i) {
      const auto a2 = square(activated(g(i), activation));
      largest = {std::max(largest.lower, a2.lower), std::max(largest.upper, a2.upper)};
      product = product + a2 * Enclosure(u(i) * u(i));
    }
    const Enclosure weight(probability), u2(u.squared_norm());
    terms.u2 = terms.u2 + weight * u2;
    terms.a2 = terms.a2 + weight * largest;
    terms.product = terms.product + weight * product;
    joint = joint + weight * (u2 * largest);
  }
  terms.covariance = joint - terms.u2 * terms.a2;
  terms.slack = joint - terms.product;
  return terms;
}

}  // namespace

Verdict check_input_drop(const NormDrop& drop, std::uint64_t seed) {
  return check_drop(drop, false, seed);
}

Verdict check_projected_drop(const NormDrop& drop, std::uint64_t seed) {
  return check_drop(drop, true, seed);
}

Verdict check_product_bound(const ProductPrediction& says,
                            Activation activation,
                            std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& drawn :
       token_laws(seed, activation == Activation::kLinear ? kExactDraws : kEnclosedDraws)) {
    for (const auto& law : {drawn, drawn.centred()}) {
      const auto terms = terms_of(law, activation);
      const auto bound = terms.u2 * terms.a2;
      const auto exceeds = less(bound, terms.product);
      if (!exceeds) continue;
      tally.sizes(law.sizes());
      tally.record(!*exceeds, says(terms), [&] {
        return Witness{fmt::format("{}, A = {}: E‖U⊙A‖² = {}, E‖U‖² = {}, E‖A‖_∞² = {}",
                                   law,
                                   activation == Activation::kLinear ? "G" : "silu(G)",
                                   terms.product,
                                   terms.u2,
                                   terms.a2),
                       terms.product.middle(),
                       bound.middle()};
      });
    }
  }
  return tally.verdict("E‖U⊙A‖²", "E‖U‖² E‖A‖_∞²", "exact, by rational bounds");
}

std::optional<bool> bound_by_covariance(const ProductTerms& of) {
  const auto beyond = less(of.slack, of.covariance);
  return beyond ? std::optional(!*beyond) : std::nullopt;
}

Verdict check_surrogate_falls(const SurrogatePrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& law : token_laws(seed, kEnclosedDraws)) {
    const auto before = terms_of(law, Activation::kSilu),
               after = terms_of(law.centred(), Activation::kSilu);
    const auto bound_before = before.u2 * before.a2, bound_after = after.u2 * after.a2;
    const auto falls = less(bound_after, bound_before);
    if (!falls) continue;
    const Rational removed = Rational(law.tokens()) * (law.mean_row() * law.up).squared_norm();
    const SurrogateTerms terms{after.u2.lower, removed, before.a2, after.a2};
    tally.sizes(law.sizes());
    tally.record(*falls, says(terms), [&] {
      return Witness{
          fmt::format("{}: E‖U‖² from {} to {}, E‖silu(G)‖_∞² from {} to {}, their product from {} "
                      "to {}, E‖S‖² from {} to {}",
                      law,
                      before.u2,
                      after.u2,
                      before.a2,
                      after.a2,
                      bound_before,
                      bound_after,
                      before.product,
                      after.product),
          bound_after.middle(),
          bound_before.middle()};
    });
  }
  return tally.verdict("bound after centring", "bound before", "exact, by rational bounds");
}

std::optional<bool> surrogate_falls(const SurrogateTerms& of) {
  return less(of.gate_after * Enclosure(of.u2), of.gate_before * Enclosure(of.u2 + of.removed));
}

}  // namespace kappascope::theory
