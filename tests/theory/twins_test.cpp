// SPDX-License-Identifier: Apache-2.0
// Each check is shown to be able to fail: it is fed a deliberately wrong statement, which it must
// refute, and a right one, which it must accept.
#include <functional>
#include <iostream>
#include <map>
#include <optional>

#include "kappascope/theory/claim.h"
#include "support/catch.h"
#include "theory/checks/block_hessian.h"
#include "theory/checks/measured_run.h"
#include "theory/checks/spectrum.h"
#include "theory/checks/variance.h"
#include "theory/synthetic_run.h"

using namespace kappascope::theory;

namespace {

constexpr std::uint64_t kSeed = 5;
constexpr int kLaws = 120;
constexpr Dropout kPaper{};
constexpr Dropout kInvertedAfter{Placement::kAfterBias, Scaling::kInverted};

struct Twin {
  std::function<Verdict()> right, wrong;
};

const auto kCovariance = moment_formula([](const auto& sigma, const auto&) { return sigma; });
const auto kSecondMoment = moment_formula(
    [](const auto& sigma, const auto& mu) { return (sigma + mu * mu.transpose()).eval(); });

Prediction yes() {
  return [](const GramCase&) { return std::optional(true); };
}

Matrix<Rational> joint_without_residual(const RegressionCase& one) {
  const Vector<Rational> residual = one.mean_residual();
  auto hessian = joint_hessian(one);
  for (Eigen::Index j = 0; j < one.d_ff(); ++j) {
    for (Eigen::Index k = 0; k < one.d_model(); ++k) {
      const auto row = j * one.d_model() + k, column = one.weight.size() + j;
      hessian(row, column) -= residual(k);
      hessian(column, row) -= residual(k);
    }
  }
  return hessian;
}

/// The corrected minimum, but said to be unique for every u.
std::optional<Minimum> always_unique(const LemmaTerms& terms) {
  return Minimum{
      -(terms.p * terms.mu),
      terms.r2 * (terms.p * terms.variance + terms.p * (1 - terms.p) * terms.mu * terms.mu)};
}

Verdict kappa_of(const Prediction& says, Convention convention = Convention::kInfinite) {
  return check_kappa(says, Relation::kAtLeast, convention, kSeed);
}

/// A measured claim finds the statement true in a run where it is, and false where it is not: the
/// verdict is turned into one of the two outcomes that the twins are held to.
Verdict read_as(Verdict verdict, double expected) {
  REQUIRE(verdict.outcome == Outcome::kMeasured);
  const bool as_stated = std::abs(verdict.measured - expected) < 1e-12;
  verdict.outcome = as_stated ? Outcome::kHolds : Outcome::kRefuted;
  return verdict;
}

Verdict order_in_run(double sigma, double second_moment) {
  test::SyntheticRun run;
  run.write(0,
            {{.name = "kappa/sigma", .layer = "a", .value = sigma},
             {.name = "kappa/second_moment", .layer = "a", .value = second_moment}});
  return read_as(check_order(run.dir(), "kappa/second_moment", "kappa/sigma"), 1);
}

Verdict variance_in_run(double measured, double published) {
  test::SyntheticRun run;
  run.write_variances(0, "a", {.measured = measured, .published = published});
  return read_as(check_gradient_variance(run.dir(), "gradvar/published"), 1);
}

std::map<std::string, Twin> hessian_twins() {
  return {
      {"P-P1a",
       {[] { return check_block(kSecondMoment, kSeed); },
        [] { return check_block(kCovariance, kSeed); }}},
      {"P-P1b",
       {[] { return check_intercept_schur(kCovariance, kSeed); },
        [] { return check_intercept_schur(kSecondMoment, kSeed); }}},
      {"P-P1b, eliminating b",
       {[] { return check_bias_schur(kCovariance, bias_absorbs_mean, kSeed); },
        [] {
          return check_bias_schur(
              kCovariance, [](const auto&) { return true; }, kSeed);
        }}},
      {"P-P1b'",
       {[] { return check_joint(joint_hessian, kSeed); },
        [] { return check_joint(joint_without_residual, kSeed); }}},
  };
}

std::map<std::string, Twin> spectrum_twins() {
  const auto grows = [](const GramCase& one) { return std::optional(top_grows(one)); };
  const auto only_along_top = [](const GramCase& one) { return std::optional(one.mean(0) != 0); };
  const auto in_range = [](const GramCase& one) { return std::optional(one.mean_in_range()); };
  const auto no_mean = [](const GramCase& one) {
    return std::optional(one.mean.dot(one.mean) == 0);
  };
  const auto secular = [](const GramCase& one) {
    return std::optional(kappa_at_least(one, Convention::kInfinite));
  };
  const auto secular_nonzero = [](const GramCase& one) {
    return std::optional(kappa_at_least(one, Convention::kNonzero));
  };
  const auto if_top_grows = [](const GramCase& one) { return std::optional(top_grows(one)); };
  return {
      {"P-P1c",
       {[] { return check_top_eigenvalue_bound(published_top_bound, kSeed); },
        [] {
          return check_top_eigenvalue_bound(
              [](const GramCase& one) -> Rational {
                return one.lambda(0) + one.mean.dot(one.mean);
              },
              kSeed);
        }}},
      {"P-P1d",
       {[=] { return check_top_strictly_grows(grows, kSeed); },
        [] { return check_top_strictly_grows(yes(), kSeed); }}},
      {"P-P1d'",
       {[=] { return check_top_strictly_grows(grows, kSeed); },
        [=] { return check_top_strictly_grows(only_along_top, kSeed); }}},
      {"P-P1e",
       {[=] { return check_same_nullspace(in_range, kSeed); },
        [] { return check_same_nullspace(yes(), kSeed); }}},
      {"P-P1e'",
       {[=] { return check_same_nullspace(in_range, kSeed); },
        [=] { return check_same_nullspace(no_mean, kSeed); }}},
      {"P-P1f", {[=] { return kappa_of(secular); }, [] { return kappa_of(yes()); }}},
      {"P-P1f'",
       {[=] { return kappa_of(secular_nonzero, Convention::kNonzero); },
        [=] { return kappa_of(if_top_grows, Convention::kNonzero); }}},
      {"P-P1g", {[] { return order_in_run(10, 20); }, [] { return order_in_run(20, 10); }}},
  };
}

std::map<std::string, Twin> variance_twins() {
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

std::map<std::string, Twin> all_twins() {
  auto twins = hessian_twins();
  twins.merge(spectrum_twins());
  twins.merge(variance_twins());
  return twins;
}

}  // namespace

TEST_CASE("every claim has a twin") {
  const auto twins = all_twins();
  for (const auto& claim : all_claims()) {
    CAPTURE(claim.id);
    CHECK(twins.count(claim.id) == 1);
  }
}

TEST_CASE("every check refutes a wrong statement and accepts a right one") {
  for (const auto& [id, twin] : all_twins()) {
    CAPTURE(id);
    const auto wrong = twin.wrong(), right = twin.right();
    CHECK(wrong.outcome == Outcome::kRefuted);
    CHECK(right.outcome == Outcome::kHolds);
    std::cout << id << ": wrong statement " << to_string(wrong.outcome) << ", right statement "
              << to_string(right.outcome) << '\n';
  }
}
