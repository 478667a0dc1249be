// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/spectral_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kappascope/core/statistics.h"
#include "kappascope/linalg/symmetric_eigen.h"
#include "linalg/features/conditioning.h"
#include "linalg/features/isotropy.h"
#include "linalg/features/shrinkage.h"

namespace kappascope::linalg {
namespace {

constexpr Eigen::Index kFewestRows = 8;
constexpr double kFewestEffective = 4;  // rows of which tr Σ² has an unbiased estimate

// Where the expansion of the entropy still holds (header).
constexpr double kLargestBias = 0.3;

/// Of Student's law with the degrees of freedom of a variance of such rows.
double quantile(const ShapeFacts& facts, const RowTails& tails, double confidence) {
  return student_quantile((1 + confidence) / 2, 2 * facts.n_effective / (tails.kurtosis - 1));
}

/// The interval within [least, most], and the status by its width.
SpectralEstimate estimate(double value, double lower, double upper, double least, double most) {
  SpectralEstimate found{value, std::clamp(lower, least, most), std::clamp(upper, least, most)};
  found.resolution = resolution_of(std::max(value / found.lower, found.upper / value));
  return found;
}

/// How much more ‖S - Σ‖² is than for Gaussian rows; not less.
double excess_error(const ShapeFacts& facts) {
  const double gaussian = facts.trace * facts.trace + facts.frobenius_squared;
  return std::max(1.0, (facts.fourth - facts.frobenius_squared) / gaussian);
}

/// (a - b) / (log a - log b); a and b are positive.
double logarithmic_mean(double a, double b) {
  const double difference = a - b, sum = a + b;
  // The next term of the series is of relative size (difference/sum)²/3.
  if (std::abs(difference) < 1e-6 * sum) return 0.5 * sum;
  return difference / (std::log(a) - std::log(b));
}

/// B of the header for Gaussian rows.
double entropy_bias(const ShapeFacts& facts) {
  double sum = facts.trace;
  for (Eigen::Index i = 0; i < facts.values.size(); ++i) {
    for (Eigen::Index j = 0; j < facts.values.size(); ++j) {
      const double a = facts.values(i), b = facts.values(j);
      if (a > 0 && b > 0)
        sum += facts.weights(i) * facts.weights(j) * a * b / logarithmic_mean(a, b);
    }
  }
  return sum / (2 * facts.n_effective * facts.trace);
}

}  // namespace

double entropy(const Eigen::ArrayXd& values, const Eigen::ArrayXd& weights, double trace) {
  const Eigen::ArrayXd share = values.max(0) / trace;
  return -(weights * share * share.max(std::numeric_limits<double>::min()).log()).sum();
}

SpectralEstimate stable_rank(const ShapeFacts& facts, const RowTails& tails, double confidence) {
  // Of three bounds at either end all must hold.
  const double failure = (1 - confidence) / 6;
  const double d = facts.dimension;
  const Eigen::ArrayXd share = facts.values / facts.trace;
  const double error =
      std::exp(normal_quantile(1 - failure) * std::sqrt((tails.kurtosis - 1) / facts.n_effective *
                                                        (facts.weights * share.square()).sum()));
  const double value = facts.trace / facts.lambda_max;
  const SamplingBounds bounds = sharpened_bounds(tails, facts.n_effective, d, value, failure);
  const double bound = facts.lambda_max_bound / facts.lambda_max;
  return estimate(value,
                  value / (1 + bound) * bounds.along_low / error,
                  value / (1 - bound) * bounds.top * error,
                  1,
                  d);
}

SpectralEstimate effective_rank(const ShapeFacts& facts,
                                const RowTails& tails,
                                const SpectralEstimate& isotropy,
                                double confidence) {
  const double d = facts.dimension;
  const double bias = entropy_bias(facts) * excess_error(facts);
  if (!(bias <= kLargestBias)) {
    return {.lower = d * isotropy.lower, .upper = d, .resolution = Resolution::kNotResolvable};
  }
  const Eigen::ArrayXd share = facts.values / facts.trace;
  const Eigen::ArrayXd slope =
      share * (share.max(std::numeric_limits<double>::min()).log() + facts.entropy);
  const double deviation =
      std::sqrt((tails.kurtosis - 1) / facts.n_effective * (facts.weights * slope.square()).sum());
  const double reach =
      quantile(facts, tails, confidence) * deviation + facts.entropy_error + 2 * bias * bias;
  const double value = facts.entropy + bias;
  return estimate(std::exp(value), std::exp(value - reach), std::exp(value + reach), 1, d);
}

SpectralEstimate isotropy(const ShapeFacts& facts,
                          const RowTails& tails,
                          double influence,
                          double confidence) {
  const double d = facts.dimension, n = facts.n_effective;
  if (!(n > kFewestEffective))
    return {.lower = 1 / d, .upper = 1, .resolution = Resolution::kNotResolvable};
  // With divisor n - 1, and both without their common factor.
  const double trace = n / (n - 1) * facts.trace;
  const double squares = std::pow(n / (n - 1), 2) * facts.frobenius_squared;
  const double fourth = n * n / (n - 1) * facts.fourth;
  const double trace_squared = 2 * squares + (n * n - 3 * n + 1) * trace * trace - fourth;
  const double of_square = (n - 1) * (n - 2) * squares + trace * trace - fourth;
  const double value = trace_squared / of_square / d;
  if (!(of_square > 0 && value > 0))
    return {.lower = 1 / d, .upper = 1, .resolution = Resolution::kNotResolvable};
  const double second_order = std::pow(2 * excess_error(facts) / n, 2);
  const double reach =
      std::exp(quantile(facts, tails, confidence) * std::sqrt(influence / n + second_order));
  return estimate(value, value / reach, value * reach, 1 / d, 1);
}

double isotropy_influence(const Moments& moments,
                          const ShapeFacts& facts,
                          const RowTails& tails,
                          const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& multiply) {
  const double trace = facts.trace, squares = facts.frobenius_squared;
  const Eigen::Index kept = moments.sample.rows();
  const Eigen::ArrayXd slope = 2 * (facts.values / trace - facts.values.square() / squares);
  const double of_spectrum = (tails.kurtosis - 1) * (facts.weights * slope.square()).sum();
  if (kept < kFewestRows) return of_spectrum;
  Eigen::ArrayXd adds(kept);
  for (Eigen::Index i = 0; i < kept; ++i) {
    const Eigen::VectorXd y = moments.sample.row(i).transpose().cast<double>() - moments.mean;
    adds(i) = 2 * y.squaredNorm() / trace - 2 * y.dot(multiply(y)) / squares;
  }
  const double of_rows = (adds - adds.mean()).square().sum() / static_cast<double>(kept - 1);
  return std::max(of_rows, of_spectrum);
}

void set_shape(const Moments& moments,
               const ShapeFacts& facts,
               const RowTails& tails,
               const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& multiply,
               double confidence,
               Conditioning& result) {
  constexpr double kRounding = 0.01;
  const double d = facts.dimension;
  const bool varies = facts.trace > 0;
  const auto status = varies ? Resolution::kNotResolvable : Resolution::kDegenerate;
  result.effective_rank = result.stable_rank = {.lower = 1, .upper = d, .resolution = status};
  result.isotropy = {.lower = 1 / d, .upper = 1, .resolution = status};
  if (varies && d == 1) {
    result.effective_rank = result.stable_rank = result.isotropy = {1, 1, 1, Resolution::kResolved};
    return;
  }
  const Rounding rounding = rounding_along(moments, Eigen::VectorXd::Ones(moments.mean.size()));
  if (!varies || !(facts.n_effective > kFewestEffective) ||
      rounding.rows + rounding.sums > kRounding * facts.trace)
    return;
  result.isotropy =
      isotropy(facts, tails, isotropy_influence(moments, facts, tails, multiply), confidence);
  result.stable_rank = stable_rank(facts, tails, confidence);
  result.effective_rank = effective_rank(facts, tails, result.isotropy, confidence);
}

SpectralEstimate isotropy(const Moments& moments, double confidence) {
  ShapeFacts facts;
  const Eigen::Index d = moments.mean.size();
  facts.dimension = static_cast<double>(d);
  facts.weights = Eigen::ArrayXd::Ones(d);
  facts.trace = moments.covariance.trace();
  facts.frobenius_squared = moments.covariance.squaredNorm();
  facts.n_effective = moments.n_effective;
  const bool kept = moments.sample.rows() >= kFewestRows;
  // Eigenvalues cost more than the rows, which say the same unless they are few.
  facts.values = kept ? Eigen::ArrayXd(Eigen::ArrayXd::Zero(d))
                      : Eigen::ArrayXd(symmetric_eigenvalues(moments.covariance).array());
  facts.fourth = moments.fourth.known() ? moments.fourth.length
                 : kept
                     ? sample_fourth_moment(moments.sample, moments.mean, Eigen::VectorXd::Ones(d))
                     : gaussian_fourth_moment(facts.trace, facts.frobenius_squared, 0);
  if (!(facts.trace > 0)) return {.lower = 1 / facts.dimension, .upper = 1};
  const auto multiply = [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
    return moments.covariance.selfadjointView<Eigen::Lower>() * x;
  };
  return isotropy(
      facts, RowTails{}, isotropy_influence(moments, facts, RowTails{}, multiply), confidence);
}

}  // namespace kappascope::linalg
