// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "lab/theory/synthetic_run.h"
#include "lab/theory/twins/twins.h"
#include "theory/checks/lemma2/draws.h"
#include "theory/checks/lemma2/variance.h"
#include "theory/checks/measured_run.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;
constexpr int kLaws = 120;
constexpr Dropout kPaper{};
constexpr Dropout kInvertedAfter{Placement::kAfterBias, Scaling::kInverted};

/// The corrected minimum, but said to be unique for every u.
std::optional<Minimum> always_unique(const LemmaTerms& terms) {
  return Minimum{
      -(terms.p * terms.mu),
      terms.r2 * (terms.p * terms.variance + terms.p * (1 - terms.p) * terms.mu * terms.mu)};
}

Verdict variance_in_run(double measured, double published) {
  test::SyntheticRun run;
  run.write_variances(0, "a", {.measured = measured, .published = published});
  return read_as(check_gradient_variance(run.dir(), "gradvar/published"), 1);
}

}  // namespace

Twins lemma2_twins() {
  const auto independent = independent_laws(kSeed, kLaws);
  const auto printed = printed_laws(kSeed, kLaws);
  const auto arbitrary = arbitrary_laws(kSeed, kLaws);
  const auto all_terms = [](const JointMoments& of) {
    return of.y2 * of.r2 + of.covariance - of.mean * of.mean;
  };
  const auto no_covariance = [](const JointMoments& of) {
    return of.y2 * of.r2 - of.mean * of.mean;
  };
  return {
      {"P-L2a",
       {[=] { return check_variance(derived_variance(kPaper), kPaper, independent); },
        [=] { return check_variance(published_variance, kPaper, independent); }}},
      {"P-L2a'",
       {[=] { return check_variance(derived_variance(kPaper), kPaper, independent); },
        [=] { return check_variance(derived_variance(kInvertedAfter), kPaper, independent); }}},
      {"P-L2a', by draws",
       {[] {
          return check_variance_by_draws(
              derived_variance(kPaper), kPaper, independent_laws(kSeed, 6), kSeed);
        },
        [] {
          return check_variance_by_draws(
              published_variance, kPaper, independent_laws(kSeed, 6), kSeed);
        }}},
      {"P-L2f",
       {[=] { return check_minimum_of_law(dependent_minimum, kPaper, arbitrary); },
        [=] {
          return check_minimum_of_law(
              [](const FiniteLaw& law, Dropout dropout) {
                return derived_minimum(dropout)(terms_of(law));
              },
              kPaper,
              arbitrary);
        }}},
      {"P-L2b",
       {[=] { return check_minimum(derived_minimum(kPaper), kPaper, independent); },
        [=] { return check_minimum(published_minimum, kPaper, independent); }}},
      {"P-L2b'",
       {[] { return check_minimum(derived_minimum(kPaper), kPaper, laws_without_gradient()); },
        [] { return check_minimum(always_unique, kPaper, laws_without_gradient()); }}},
      {"P-L2c",
       {[=] { return check_variance(derived_variance(kPaper), kPaper, independent); },
        [=] { return check_variance(derived_variance(kPaper), kPaper, printed); }}},
      {"P-L2c'",
       {[=] { return check_decomposition(all_terms, arbitrary); },
        [=] { return check_decomposition(no_covariance, arbitrary); }}},
      {"P-L2c', when the product is all",
       {[=] {
          return check_product_condition(
              [](const JointMoments& of) { return of.covariance == of.mean * of.mean; }, arbitrary);
        },
        [=] {
          return check_product_condition([](const JointMoments& of) { return of.covariance == 0; },
                                         arbitrary);
        }}},
      {"P-L2d",
       {[=] { return check_minimum(derived_minimum(kInvertedAfter), kInvertedAfter, independent); },
        [=] { return check_minimum(published_minimum, kInvertedAfter, independent); }}},
      {"P-L2d'",
       {[=] {
          return check_variance(derived_variance(kInvertedAfter), kInvertedAfter, independent);
        },
        [=] { return check_variance(derived_variance(kPaper), kInvertedAfter, independent); }}},
      {"P-L2e", {[] { return variance_in_run(2, 2); }, [] { return variance_in_run(2, 1); }}},
  };
}

}  // namespace kappascope::theory
