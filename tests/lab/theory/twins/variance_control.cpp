// SPDX-License-Identifier: Apache-2.0
#include "lab/theory/twins/twins.h"
#include "theory/checks/variance_control/intercept.h"
#include "theory/checks/variance_control/masked.h"
#include "theory/checks/variance_control/sample_gradients.h"
#include "theory/exact/linalg.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;
constexpr int kLaws = 150;
constexpr Dropout kPaper{};
constexpr Dropout kInverted{Placement::kBeforeBias, Scaling::kInverted};
constexpr Dropout kInvertedAfter{Placement::kAfterBias, Scaling::kInverted};

std::optional<bool> yes(const ReadoutCase& /*one*/) {
  return true;
}

std::optional<bool> weight_is_not_zero(const ReadoutCase& one) {
  return one.weight.squared_norm() != 0;
}

Matrix<Rational> without_mean(const Matrix<Rational>& sigma,
                              const Vector<Rational>& /*mu*/,
                              const Vector<Rational>& /*b*/) {
  return sigma;
}

Matrix<Rational> about_bias(const Matrix<Rational>& sigma,
                            const Vector<Rational>& mu,
                            const Vector<Rational>& b) {
  return sigma + (mu + b) * (mu + b).transpose();
}

Matrix<Rational> uncentred_bias(const Matrix<Rational>& sigma,
                                const Vector<Rational>& mu,
                                const Vector<Rational>& /*b*/) {
  return sigma + mu * mu.transpose();
}

Twins intercept_twins() {
  return {
      {"P-VCa",
       {[] { return check_intercept_solved(intercept_in_row_space, kSeed); },
        [] { return check_intercept_solved(yes, kSeed); }}},
      {"P-VCa'",
       {[] { return check_intercept_solved(intercept_in_row_space, kSeed); },
        [] { return check_intercept_solved(weight_is_not_zero, kSeed); }}},
      {"P-VCa', the excess",
       {[] { return check_excess_loss(normal_equation_excess, kSeed); },
        [] { return check_excess_loss([](const ReadoutCase&) { return Rational(0); }, kSeed); }}},
      {"P-VCb",
       {[] { return check_sample_gradients(gradients_are_centred, kSeed); },
        [] { return check_sample_gradients(yes, kSeed); }}},
      {"P-VCb'",
       {[] { return check_sample_gradients(gradients_are_centred, kSeed); },
        [] {
          return check_sample_gradients(
              [](const ReadoutCase& one) -> std::optional<bool> {
                return (one.mu() + one.bias).squared_norm() == 0;
              },
              kSeed);
        }}},
      {"P-VCb', where -μ is optimal",
       {[] {
          return check_centring_is_optimal(
              [](const ReadoutCase& one) -> std::optional<bool> {
                return one.mean_target().squared_norm() == 0;
              },
              kSeed);
        },
        [] {
          return check_centring_is_optimal(
              [](const ReadoutCase& one) -> std::optional<bool> {
                return one.intercept().squared_norm() == 0;
              },
              kSeed);
        }}},
      {"P-VCb', the mean gradient",
       {[] { return check_mean_gradient(centred_mean_gradient, kSeed); },
        [] {
          return check_mean_gradient(
              [](const ReadoutCase& one) -> Matrix<Rational> {
                return centred_mean_gradient(one) + one.mu() * one.mean_target().transpose();
              },
              kSeed);
        }}},
      {"P-VCc",
       {[] { return check_gradient_covariance(about_bias, kSeed); },
        [] { return check_gradient_covariance(without_mean, kSeed); }}},
      {"P-VCc'",
       {[] { return check_gradient_covariance(about_bias, kSeed); },
        [] { return check_gradient_covariance(uncentred_bias, kSeed); }}},
      {"P-VCc', when it falls",
       {[] { return check_covariance_falls(shifted_mean_shrinks, kSeed); },
        [] {
          return check_covariance_falls(
              [](const ReadoutCase& one) -> std::optional<bool> {
                return (one.mu() + one.bias).dot(one.mu() + one.bias) <= one.mu().dot(one.mu());
              },
              kSeed);
        }}},
  };
}

/// Centres on pμ whatever the dropout.
std::optional<bool> nearer_to_masked_mean(const LemmaTerms& terms, Dropout /*dropout*/) {
  const Rational c = terms.p * terms.mu;
  return terms.r2 > 0 && (c + terms.b) * (c + terms.b) < c * c;
}

Twins masking_twins() {
  const auto laws = independent_laws(kSeed, kLaws);
  const auto whenever_masked = [](const LemmaTerms& terms, Dropout) -> std::optional<bool> {
    return terms.p < 1 && terms.variance > 0;
  };
  const auto each_feature = [](const std::vector<LemmaTerms>& features,
                               Dropout dropout) -> std::optional<bool> {
    return bias_reduces_gradient(features.front(), dropout);
  };
  const auto added = [](const LemmaTerms& terms, Dropout dropout) {
    const auto left = derived_shares(terms, dropout).left_by_dropout;
    return Shares{left, left};
  };
  const auto without_mean = [](const LemmaTerms& terms, Dropout dropout) {
    auto shares = derived_shares(terms, dropout);
    shares.left_by_dropout -= terms.r2 * terms.p * (1 - terms.p) * terms.mu * terms.mu;
    return shares;
  };
  return {
      {"P-DROP",
       {[=] { return check_inflation(mask_inflates, Scaling::kPlain, laws); },
        [=] { return check_inflation(whenever_masked, Scaling::kPlain, laws); }}},
      {"P-DROP'",
       {[=] { return check_inflation(mask_inflates, Scaling::kInverted, laws); },
        [=] {
          return check_inflation(
              [](const LemmaTerms& terms, Dropout) { return mask_inflates(terms, kPaper); },
              Scaling::kInverted,
              laws);
        }}},
      {"P-DROP', the mean",
       {[=] {
          return check_masked_mean(
              derived_masked_mean(Scaling::kInverted), Scaling::kInverted, laws);
        },
        [=] {
          return check_masked_mean(derived_masked_mean(Scaling::kPlain), Scaling::kInverted, laws);
        }}},
      {"P-DROP', the variance",
       {[=] { return check_regressor_variance(derived_regressor_variance(kPaper), kPaper, laws); },
        [=] {
          return check_regressor_variance(derived_regressor_variance(kPaper), kInverted, laws);
        }}},
      {"P-L2s",
       {[=] { return check_reduction(bias_reduces_gradient, Quantity::kGradient, kPaper, laws); },
        [=] {
          return check_reduction(
              [](const LemmaTerms& terms, Dropout) { return std::optional(terms.b != 0); },
              Quantity::kGradient,
              kPaper,
              laws);
        }}},
      {"P-L2s'",
       {[=] {
          return check_reduction(bias_reduces_gradient, Quantity::kGradient, kInvertedAfter, laws);
        },
        [=] {
          return check_reduction(nearer_to_masked_mean, Quantity::kGradient, kInvertedAfter, laws);
        }}},
      {"P-L2s', the sum over features",
       {[=] { return check_total_reduction(bias_reduces_total, kInverted, laws); },
        [=] { return check_total_reduction(each_feature, kInverted, laws); }}},
      {"P-L2s', descent",
       {[] { return check_descent_centres(mean_output_overshoots, kSeed); },
        [] {
          return check_descent_centres(
              [](const ReadoutCase& one) -> std::optional<bool> {
                return one.mu().squared_norm() != 0;
              },
              kSeed);
        }}},
      {"P-NODROP",
       {[=] { return check_shares(derived_shares, kPaper, laws); },
        [=] { return check_shares(added, kPaper, laws); }}},
      {"P-NODROP, what the mask leaves",
       {[=] { return check_shares(derived_shares, kInvertedAfter, laws); },
        [=] { return check_shares(without_mean, kPaper, laws); }}},
  };
}

}  // namespace

Twins variance_control_twins() {
  auto twins = intercept_twins();
  twins.merge(masking_twins());
  return twins;
}

}  // namespace kappascope::theory
