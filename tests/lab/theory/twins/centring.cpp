// SPDX-License-Identifier: Apache-2.0
#include "lab/theory/twins/twins.h"
#include "theory/checks/centring/second_moments.h"
#include "theory/checks/centring/silu.h"
#include "theory/checks/variance_control/masked.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;
constexpr Dropout kAfter{Placement::kAfterBias, Scaling::kPlain};

Rational per_token(const Rational& tokens, const Rational& squared_mean) {
  return tokens * squared_mean;
}

Rational once(const Rational& /*tokens*/, const Rational& squared_mean) {
  return squared_mean;
}

std::optional<bool> yes(const ProductTerms& /*terms*/) {
  return true;
}

std::optional<bool> first_factor_falls(const SurrogateTerms& terms) {
  return terms.removed > 0;
}

/// The document's own drop, without the number of tokens, is half of it for two.
std::optional<bool> with_half_the_drop(const SurrogateTerms& terms) {
  auto halved = terms;
  halved.removed /= 2;
  return surrogate_falls(halved);
}

Enclosure tenths(std::int64_t lower, std::int64_t upper) {
  return {Rational(lower, std::int64_t{10}), Rational(upper, std::int64_t{10})};
}

}  // namespace

Twins centring_twins() {
  const auto laws = independent_laws(kSeed, 150);
  return {
      {"P-CENa",
       {[] { return check_input_drop(per_token, kSeed); },
        [] { return check_input_drop(once, kSeed); }}},
      {"P-CENb",
       {[] { return check_projected_drop(per_token, kSeed); },
        [] { return check_projected_drop(once, kSeed); }}},
      {"P-CENb'",
       {[] { return check_projected_drop(per_token, kSeed); },
        [] {
          return check_projected_drop(
              [](const Rational& n, const Rational& squared) { return n * n * squared; }, kSeed);
        }}},
      {"P-CENc",
       {[] { return check_lipschitz(tenths(0, 11)); },
        [] {
          return check_lipschitz({0, 1});
        }}},
      {"P-CENc, rising",
       {[] { return check_rises(tenths(-13, -12)); }, [] { return check_rises(std::nullopt); }}},
      {"P-CENc'",
       {[] { return check_lipschitz(tenths(10, 11)); },
        [] { return check_lipschitz(tenths(11, 12)); }}},
      {"P-CENc', rising",
       {[] { return check_rises(tenths(-13, -12)); },
        [] { return check_rises(tenths(-12, -11)); }}},
      {"P-CENd",
       {[] { return check_product_bound(bound_by_covariance, Activation::kSilu, kSeed); },
        [] { return check_product_bound(yes, Activation::kSilu, kSeed); }}},
      {"P-CENd'",
       {[] { return check_product_bound(bound_by_covariance, Activation::kLinear, kSeed); },
        [] {
          return check_product_bound(
              [](const ProductTerms& terms) { return std::optional(terms.covariance.upper <= 0); },
              Activation::kLinear,
              kSeed);
        }}},
      {"P-CENe",
       {[] { return check_surrogate_falls(surrogate_falls, kSeed); },
        [] { return check_surrogate_falls(first_factor_falls, kSeed); }}},
      {"P-CENe'",
       {[] { return check_surrogate_falls(surrogate_falls, kSeed); },
        [] { return check_surrogate_falls(with_half_the_drop, kSeed); }}},
      {"P-ABS",
       {[=] { return check_reduction(bias_reduces_regressor, Quantity::kRegressor, kAfter, laws); },
        [=] {
          const auto always = [](const LemmaTerms&, Dropout) { return std::optional(true); };
          return check_reduction(always, Quantity::kRegressor, {}, laws);
        }}},
      {"P-ABS'",
       {[=] { return check_regressor_variance(derived_regressor_variance(kAfter), kAfter, laws); },
        [=] { return check_regressor_variance(derived_regressor_variance({}), kAfter, laws); }}},
      {"P-ABS', when it falls",
       {[=] { return check_reduction(bias_reduces_regressor, Quantity::kRegressor, kAfter, laws); },
        [=] {
          return check_reduction(bias_reduces_gradient, Quantity::kRegressor, kAfter, laws);
        }}},
  };
}

}  // namespace kappascope::theory
