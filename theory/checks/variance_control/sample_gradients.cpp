// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/variance_control/sample_gradients.h"

#include <fmt/format.h>

#include "theory/checks/variance_control/quadratic.h"
#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kDraws = 2000, kCovarianceDraws = 600;

/// The gradient in W of each sample's own loss, [n, d·m], W column by column.
Matrix<Rational> sample_gradients(const ReadoutCase& one) {
  const Index d = one.weight.rows(), m = one.weight.cols();
  Matrix<Rational> gradients(one.phi.rows(), d * m);
  for (Index i = 0; i < one.phi.rows(); ++i) {
    ReadoutCase single{one.phi.row(i), one.weight, one.bias, one.target.row(i)};
    const ExactFunction at = [&](const Vector<Rational>& step) {
      single.weight = one.weight + step.reshaped(d, m);
      return single.loss();
    };
    gradients.row(i) = gradient_of(at, d * m).transpose();
  }
  return gradients;
}

/// The outer product of each row of `regressors` with the residual of its sample, [n, d·m].
Matrix<Rational> outer_products(const Matrix<Rational>& regressors,
                                const Matrix<Rational>& residuals) {
  const Index d = regressors.cols(), m = residuals.cols();
  Matrix<Rational> out(regressors.rows(), d * m);
  for (Index k = 0; k < m; ++k) {
    for (Index j = 0; j < d; ++j) {
      out.col(k * d + j) = regressors.col(j).cwise_product(residuals.col(k));
    }
  }
  return out;
}

Matrix<Rational> kronecker(const Matrix<Rational>& a, const Matrix<Rational>& b) {
  Matrix<Rational> out(a.rows() * b.rows(), a.cols() * b.cols());
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.cols(); ++j) {
      out.block(i * b.rows(), j * b.cols(), b.rows(), b.cols()) = b * a(i, j);
    }
  }
  return out;
}

}  // namespace

Verdict check_sample_gradients(const ReadoutPrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : optimal_cases(seed, kDraws)) {
    const Matrix<Rational> actual = sample_gradients(one);
    const Matrix<Rational> centred = outer_products(centred_rows(one.phi), one.residuals());
    tally.sizes(one.sizes());
    tally.record(actual == centred, says(one), [&] {
      return Witness{fmt::format("{}: E R = 0; gradients of the samples {}, of centred features {}",
                                 one,
                                 actual,
                                 centred),
                     actual(0, 0).to_double(),
                     centred(0, 0).to_double()};
    });
  }
  return tally.verdict("gradient of one sample", "(φ-μ)ᵀR", "exact");
}

std::optional<bool> gradients_are_centred(const ReadoutCase& one) {
  return is_zero(one.mu() + one.bias) || is_zero(one.residuals());
}

Verdict check_mean_gradient(const MeanGradient& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : optimal_cases(seed, kDraws / 4)) {
    const Vector<Rational> actual = column_mean(sample_gradients(one));
    const Vector<Rational> stated = formula(one).reshaped();
    tally.sizes(one.sizes());
    tally.record(actual == stated, [&] {
      return Witness{
          fmt::format("{}: the mean gradient is {}, the statement says {}", one, actual, stated),
          actual(0).to_double(),
          stated(0).to_double()};
    });
  }
  return tally.verdict("mean of the gradients", "the formula", "exact");
}

Matrix<Rational> centred_mean_gradient(const ReadoutCase& one) {
  return centred_rows(one.phi).transpose() * one.residuals() / Rational(one.phi.rows());
}

Verdict check_gradient_covariance(const GradientCovariance& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : independent_cases(seed, kCovarianceDraws)) {
    const Matrix<Rational> actual = covariance(sample_gradients(one));
    const Matrix<Rational> of_regressor = formula(one.sigma(), one.mu(), one.bias);
    const Matrix<Rational> stated = kronecker(covariance(one.residuals()), of_regressor);
    tally.sizes(one.sizes());
    tally.record(actual == stated, [&] {
      return Witness{
          fmt::format("{}: E R = 0, Cov R = {}, and the gradients have covariance {}, the "
                      "statement says {}; with b = 0 and the same R it is {}",
                      one,
                      covariance(one.residuals()),
                      actual,
                      stated,
                      covariance(outer_products(one.phi, one.residuals()))),
          actual(0, 0).to_double(),
          stated(0, 0).to_double()};
    });
  }
  return tally.verdict("Cov of a sample's gradient", "the formula ⊗ Cov R", "exact");
}

Verdict check_covariance_falls(const ReadoutPrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : independent_cases(seed, 4 * kCovarianceDraws)) {
    const Matrix<Rational> y = one.phi.plus_row(one.bias.transpose());
    const Rational n(one.phi.rows());
    const Matrix<Rational> without = one.phi.transpose() * one.phi / n,
                           with = y.transpose() * y / n;
    const bool falls = definiteness(without - with) != Definiteness::kNeither;
    tally.sizes(one.sizes());
    tally.record(falls, says(one), [&] {
      return Witness{
          fmt::format("φ = {}, b = {}: E[φφᵀ] = {}, E[yyᵀ] = {}", one.phi, one.bias, without, with),
          with(0, 0).to_double(),
          without(0, 0).to_double()};
    });
  }
  return tally.verdict("E[yyᵀ]", "E[φφᵀ]", "exact");
}

std::optional<bool> shifted_mean_shrinks(const ReadoutCase& one) {
  const Vector<Rational> mu = one.mu(), shifted = mu + one.bias;
  return rank(beside(mu, shifted)) <= 1 && shifted.squared_norm() <= mu.squared_norm();
}

}  // namespace kappascope::theory
