// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "lab/theory/synthetic_run.h"
#include "lab/theory/twins/twins.h"
#include "support/catch.h"
#include "theory/checks/measured_run.h"
#include "theory/checks/proposition1/block_hessian.h"
#include "theory/checks/proposition1/spectrum.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;

const auto kCovariance = moment_formula([](const auto& sigma, const auto&) { return sigma; });
const auto kSecondMoment =
    moment_formula([](const auto& sigma, const auto& mu) { return (sigma + mu * mu.transpose()); });

Prediction yes() {
  return [](const GramCase&) { return std::optional(true); };
}

Matrix<Rational> joint_without_residual(const RegressionCase& one) {
  const Vector<Rational> residual = one.mean_residual();
  auto hessian = joint_hessian(one);
  for (Index j = 0; j < one.d_ff(); ++j) {
    for (Index k = 0; k < one.d_model(); ++k) {
      const auto row = j * one.d_model() + k, column = one.weight.size() + j;
      hessian(row, column) -= residual(k);
      hessian(column, row) -= residual(k);
    }
  }
  return hessian;
}

Verdict kappa_of(const Prediction& says, Convention convention = Convention::kInfinite) {
  return check_kappa(says, Relation::kAtLeast, convention, kSeed);
}

Verdict order_in_run(const std::string& larger,
                     const std::string& smaller,
                     double above,
                     double below) {
  test::SyntheticRun run;
  run.write(0,
            {{.name = larger, .layer = "a", .value = above},
             {.name = smaller, .layer = "a", .value = below}});
  return read_as(check_order(run.dir(), larger, smaller), 1);
}

Twins hessian_twins() {
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

Twins spectrum_twins() {
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
      {"P-P1g",
       {[] { return order_in_run("kappa/second_moment", "kappa/sigma", 20, 10); },
        [] { return order_in_run("kappa/second_moment", "kappa/sigma", 10, 20); }}},
      {"P-VAR",
       {[] {
          return order_in_run("features/variance_along_mean", "features/average_variance", 2, 1);
        },
        [] {
          return order_in_run("features/variance_along_mean", "features/average_variance", 1, 2);
        }}},
      {"P-DOMr",
       {[] { return order_in_run("features/mean_squared", "features/largest_variance", 2, 1); },
        [] { return order_in_run("features/mean_squared", "features/largest_variance", 1, 2); }}},
  };
}

}  // namespace

Twins proposition1_twins() {
  auto twins = hessian_twins();
  twins.merge(spectrum_twins());
  return twins;
}

}  // namespace kappascope::theory
