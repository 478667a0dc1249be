// SPDX-License-Identifier: Apache-2.0
// One eigendecomposition, or singular values of the rows, and rank-one updates of either.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/require.h"
#include "linalg/features/conditioning.h"
#include "linalg/features/paired_ratio.h"
#include "linalg/features/shrinkage.h"
#include "linalg/features/spectral_shape.h"
#include "linalg/features/updated_spectrum.h"

namespace kappascope::linalg {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Eigen::VectorXd eigenvalues_of(const Eigen::MatrixXd& matrix, const KappaOptions& options) {
  const auto& solver = options.solvers.eigenvalues;
  return solver ? solver(matrix) : symmetric_eigenvalues(matrix);
}

SymmetricEigen eigenpairs_of(const Eigen::MatrixXd& matrix, const KappaOptions& options) {
  const auto& solver = options.solvers.eigenpairs;
  return solver ? solver(matrix) : symmetric_eigen(matrix);
}

/// Σ and what every one of the six estimates shares.
struct Features {
  const Moments& moments;
  const KappaOptions& options;
  const RowRoot& root;
  Eigen::VectorXd values;  ///< of Σ, ascending, rounding below zero cut off
  Eigen::MatrixXd vectors;
  double solver_rounding = 0;  ///< of an eigenvalue of Σ
  double threshold = 0;        ///< of Σ's null space
  Eigen::Index null = 0;       ///< its dimension
  bool null_by_rounding = false;
  Rounding share = {};
  RowTails tails = {};

  [[nodiscard]] Eigen::Index dimension() const { return values.size(); }
};

/// The directions from the smallest eigenvalue on of which each is at or below the rounding along
/// it.
void set_null_space(Features& features) {
  const Eigen::Index d = features.dimension();
  const double solver = features.solver_rounding;
  features.threshold = solver;
  for (; features.null < d; ++features.null) {
    const auto rounding = rounding_along(features.moments, features.vectors.col(features.null));
    const double hidden = std::max(solver, rounding.rows + rounding.sums);
    if (features.values(features.null) > hidden) break;
    features.threshold = std::max(features.threshold, hidden);
  }
  const auto largest = largest_rounding(features.moments, Eigen::VectorXd::Ones(d));
  features.null_by_rounding =
      largest.rows + largest.sums > solver &&
      features.null > (features.moments.covariance.diagonal().array() == 0).count();
}

void set_share(Features& features) {
  const Eigen::Index rank = features.dimension() - features.null;
  if (features.null_by_rounding) features.share = {kInfinity, kInfinity};
  if (rank == 0 || features.null_by_rounding) return;
  const auto vectors = features.vectors.rightCols(rank);
  const Eigen::VectorXd inverses = features.values.tail(rank).cwiseInverse();
  features.share = rounding_share(
      features.moments, features.values(features.null), [&](const Eigen::VectorXd& x) {
        return Eigen::VectorXd(vectors * inverses.cwiseProduct(vectors.transpose() * x));
      });
}

KappaFacts facts_of_rows(const Features& features) {
  KappaFacts facts;
  facts.share = features.share;
  facts.dimension = features.dimension();
  facts.n = features.moments.n;
  facts.n_effective = features.moments.n_effective;
  return facts;
}

/// The fourth moment of scale ∘ (x + bias), or of scale ∘ (x - μ) where `mean` is zero.
double fourth_moment(const Features& features,
                     double trace,
                     double frobenius_squared,
                     const Eigen::VectorXd& mean,
                     const Eigen::VectorXd& scale) {
  const FourthMoments& fourth = features.moments.fourth;
  if (fourth.known() && (scale.array() == 1).all()) {
    return fourth_moment_about(fourth, mean, mean.dot(features.moments.covariance * mean));
  }
  if (features.moments.sample.rows() == 0) {
    return gaussian_fourth_moment(trace, frobenius_squared, mean.cwiseProduct(scale).squaredNorm());
  }
  return sample_fourth_moment(features.moments.sample, features.moments.mean - mean, scale);
}

/// How far a singular value's error lets its square be from `value`, beside the rounding at zero.
double square_error(const Features& features, double value, double rounding_at_zero) {
  return features.root.known() ? 2 * std::sqrt(value * rounding_at_zero) : 0;
}

UpdatedSpectrum updated_by(const Features& features, const Eigen::VectorXd& v) {
  return {features.values, features.vectors, features.root, v};
}

/// κ of Σ + v vᵀ.
KappaEstimate plain_estimate(const Features& features,
                             const UpdatedSpectrum& updated,
                             const Eigen::VectorXd& v) {
  KappaFacts facts = facts_of_rows(features);
  facts.update = v;
  const Eigen::VectorXd& values = features.values;
  const Eigen::Index d = values.size();
  const Eigen::VectorXd& z = updated.coordinates();
  const double v2 = v.squaredNorm();
  facts.trace = values.sum() + v2;
  facts.frobenius_squared = values.squaredNorm() + 2 * values.dot(z.cwiseAbs2()) + v2 * v2;
  facts.fourth =
      fourth_moment(features, facts.trace, facts.frobenius_squared, v, Eigen::VectorXd::Ones(d));
  facts.lambda_max = updated.value(d - 1);
  facts.lambda_min = updated.value(0);
  // The secular equation adds nothing to Σ's rounding; singular values have their own. Where Σ is
  // zero the update is all there is.
  const bool by_root = features.root.known();
  const bool zero = values(d - 1) == 0;
  facts.solver_rounding =
      zero || by_root ? solver_rounding(facts.lambda_max, d, by_root) : features.solver_rounding;
  facts.null_threshold = zero ? facts.solver_rounding
                              : std::max(features.threshold, by_root ? facts.solver_rounding : 0);
  // Eigenvalue k of the update is at most values(k + 1): all null ones but the last stay null.
  facts.null_dimension = features.null;
  if (facts.null_dimension > 0 && updated.value(facts.null_dimension - 1) > facts.null_threshold) {
    --facts.null_dimension;
  }
  if (facts.null_dimension < d) {
    const Eigen::Index k = facts.null_dimension;
    facts.smallest_positive = updated.value(k);
    facts.at_bottom = rounding_along(features.moments, updated.vector(k));
    facts.lambda_min_bound = square_error(features, facts.smallest_positive, facts.solver_rounding);
  }
  facts.at_top = largest_rounding(features.moments, Eigen::VectorXd::Ones(d));
  facts.constant_directions = constant_directions(features.moments.covariance.diagonal(), v);
  return kappa_estimate(facts, features.tails, features.options.confidence);
}

/// The ends of the updated Σ, of which `estimate` is; the rows' second moment is about `centre`.
MatrixEnds ends_of(const Features& features,
                   const UpdatedSpectrum& updated,
                   const KappaEstimate& estimate,
                   const Eigen::VectorXd& centre) {
  MatrixEnds ends{centre, estimate.lambda_max, estimate.lambda_min, {}, {}};
  if (estimate.null_dimension > 0 || !std::isfinite(estimate.value)) return ends;
  ends.top = updated.vector(features.dimension() - 1);
  ends.bottom = updated.vector(0);
  return ends;
}

/// κ of Σ + v vᵀ with unit diagonal.
KappaEstimate scaled_estimate(const Features& features, const Eigen::VectorXd& v) {
  KappaFacts facts = facts_of_rows(features);
  facts.diagonal_scaled = true;
  const Eigen::MatrixXd matrix = features.moments.covariance + v * v.transpose();
  const Eigen::VectorXd scale = matrix.diagonal().unaryExpr(
      [](double entry) { return entry > 0 ? 1 / std::sqrt(entry) : 0.0; });
  const Eigen::MatrixXd scaled = scale.asDiagonal() * matrix * scale.asDiagonal();
  const RowRoot& root = features.root;
  const Eigen::VectorXd values =
      root.known() ? root_eigen(root.factor * scale.asDiagonal(), scale.cwiseProduct(v)).values
                   : eigenvalues_of(scaled, features.options).cwiseMax(0);
  facts.trace = scaled.trace();
  facts.frobenius_squared = scaled.squaredNorm();
  facts.fourth = fourth_moment(features, facts.trace, facts.frobenius_squared, v, scale);
  facts.lambda_max = values.tail<1>()(0);
  facts.lambda_min = values(0);
  facts.at_top = facts.at_bottom = largest_rounding(features.moments, scale);
  facts.solver_rounding = solver_rounding(facts.lambda_max, values.size(), root.known());
  facts.null_threshold = std::max(facts.solver_rounding, facts.at_top.sums);
  facts.null_dimension = (values.array() <= facts.null_threshold).count();
  if (facts.null_dimension < facts.dimension) {
    facts.smallest_positive = values(facts.null_dimension);
    facts.lambda_min_bound = square_error(features, facts.smallest_positive, facts.solver_rounding);
  }
  facts.constant_directions = constant_directions(features.moments.covariance.diagonal(), v);
  return kappa_estimate(facts, features.tails, features.options.confidence);
}

RowTails tails_of(const Features& features) {
  const RowMatrixF& sample = features.moments.sample;
  const Eigen::Index rank = features.dimension() - features.null;
  if (rank == 0 || sample.rows() == 0 || features.moments.n <= rank) return {};
  const auto directions = features.vectors.rightCols(rank);
  if (features.root.known()) {
    const Eigen::VectorXd inverse_root = features.values.tail(rank).cwiseSqrt().cwiseInverse();
    const RowMatrixD whitened = features.root.sample * directions * inverse_root.asDiagonal();
    return row_tails(whitened.cast<float>(),
                     static_cast<double>(features.moments.n),
                     features.options.confidence);
  }
  // About the mean and to the top eigenvalue's scale in double; the kept rows are floats, and float
  // loses no more of them. What follows looks at lengths and fourth moments only.
  const double top = features.values(features.dimension() - 1);
  const RowMatrixF centred =
      ((sample.cast<double>().rowwise() - features.moments.mean.transpose()) / std::sqrt(top))
          .cast<float>();
  const Eigen::VectorXd inverse_root =
      (top * features.values.tail(rank).cwiseInverse()).cwiseSqrt();
  const Eigen::MatrixXf whitening = (directions * inverse_root.asDiagonal()).cast<float>();
  const RowMatrixF whitened = centred * whitening;
  return row_tails(whitened, static_cast<double>(features.moments.n), features.options.confidence);
}

double mean_leverage(const Features& features) {
  if (features.null_by_rounding) return std::numeric_limits<double>::quiet_NaN();
  const Eigen::Index null = features.null;
  const Eigen::Index d = features.dimension();
  const Eigen::VectorXd z = features.vectors.transpose() * features.moments.mean;
  const double rounding = static_cast<double>(d) * std::numeric_limits<double>::epsilon();
  if (z.head(null).norm() > rounding * z.norm()) return 1;
  const double m =
      (z.tail(d - null).array().square() / features.values.tail(d - null).array()).sum();
  return m / (1 + m);
}

ShapeFacts shape_of(const Features& features) {
  const Eigen::VectorXd& values = features.values;
  ShapeFacts facts;
  facts.values = values.array();
  facts.dimension = static_cast<double>(values.size());
  facts.weights = Eigen::ArrayXd::Ones(values.size());
  facts.lambda_max = values(values.size() - 1);
  facts.trace = values.sum();
  facts.frobenius_squared = values.squaredNorm();
  facts.n_effective = features.moments.n_effective;
  facts.fourth = fourth_moment(features,
                               facts.trace,
                               facts.frobenius_squared,
                               Eigen::VectorXd::Zero(values.size()),
                               Eigen::VectorXd::Ones(values.size()));
  facts.entropy = entropy(facts.values, facts.weights, facts.trace);
  return facts;
}

}  // namespace

void count_constants(std::int64_t n,
                     const Eigen::VectorXd& mean,
                     const Eigen::VectorXd& variances,
                     Conditioning& result) {
  if (n < 2) return;
  for (Eigen::Index j = 0; j < mean.size(); ++j) {
    if (variances(j) != 0) continue;
    ++result.constant_features;
    if (mean(j) == 0) ++result.dead_features;
  }
}

Conditioning without_spectrum(const Moments& moments, double confidence) {
  KappaFacts facts;
  facts.dimension = moments.mean.size();
  facts.n = moments.n;
  facts.n_effective = moments.n_effective;
  facts.trace = moments.covariance.trace() + moments.mean.squaredNorm();
  facts.null_dimension = facts.dimension;
  const KappaEstimate none = kappa_estimate(facts, RowTails{}, confidence);
  Conditioning result;
  result.sigma = result.second_moment = result.with_bias = none;
  result.sigma_scaled = result.second_moment_scaled = result.with_bias_scaled = none;
  return result;
}

void check_question(const Moments& moments, const Eigen::VectorXd& bias, double confidence) {
  require(0 < confidence && confidence < 1, "confidence must be in (0, 1), got {}", confidence);
  const Eigen::Index d = moments.mean.size();
  require(moments.covariance.rows() == d && moments.covariance.cols() == d,
          "a mean of width {} does not fit a covariance of {} x {}",
          d,
          moments.covariance.rows(),
          moments.covariance.cols());
  require(moments.sample.rows() == 0 || moments.sample.cols() == d,
          "kept rows of width {} do not fit {} features",
          moments.sample.cols(),
          d);
  require(bias.size() == 0 || bias.size() == d,
          "a bias of width {} does not fit {} features",
          bias.size(),
          d);
  require(bias.allFinite(), "the bias has NaN or infinity in it");
}

Conditioning conditioning_by_decomposition(const Moments& moments,
                                           const Eigen::VectorXd& bias,
                                           const KappaOptions& options,
                                           const RowRoot& root) {
  const Eigen::Index d = moments.mean.size();
  check_question(moments, bias, options.confidence);
  if (d == 0 || moments.n < 2 || !moments.covariance.allFinite() || !moments.mean.allFinite()) {
    return without_spectrum(moments, options.confidence);
  }
  SymmetricEigen eigen = root.known() ? root_eigen(root.factor, Eigen::VectorXd::Zero(d))
                                      : eigenpairs_of(moments.covariance, options);
  require(eigen.values.size() == d && eigen.vectors.rows() == d && eigen.vectors.cols() == d,
          "the eigenpairs of the given solver are not those of {} features",
          d);

  Features features{moments, options, root, eigen.values.cwiseMax(0), std::move(eigen.vectors)};
  features.solver_rounding = solver_rounding(features.values(d - 1), d, root.known());
  set_null_space(features);
  set_share(features);
  features.tails = tails_of(features);
  add_sums_of_all_rows(moments,
                       features.values.squaredNorm(),
                       {features.values(d - 1), features.vectors.col(d - 1)},
                       {features.values(0), features.vectors.col(0)},
                       features.tails);

  Conditioning result;
  if (root.known()) result.route = Route::kSingularValues;
  const auto multiply = [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
    return moments.covariance.selfadjointView<Eigen::Lower>() * x;
  };
  set_shape(moments, shape_of(features), features.tails, multiply, options.confidence, result);
  count_constants(moments.n, moments.mean, moments.covariance.diagonal(), result);
  result.sum_rounding = features.share.sums;
  result.mean_leverage = mean_leverage(features);
  result.variance_along_mean =
      moments.mean.dot(moments.covariance * moments.mean) / moments.mean.squaredNorm();
  result.average_variance = moments.covariance.trace() / static_cast<double>(d);
  result.kurtosis = features.tails.kurtosis;
  result.assumed_gaussian = moments.sample.rows() == 0;
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(d);
  const auto itself = updated_by(features, none);
  result.sigma = plain_estimate(features, itself, none);
  result.sigma_scaled = scaled_estimate(features, none);
  const auto by_mean = updated_by(features, moments.mean);
  result.second_moment = plain_estimate(features, by_mean, moments.mean);
  result.second_moment_scaled = scaled_estimate(features, moments.mean);
  const double confidence = options.confidence;
  const auto plain = ends_of(features, itself, result.sigma, moments.mean);
  result.mean_costs = paired_ratio(
      moments, ends_of(features, by_mean, result.second_moment, none), plain, confidence);
  result.bias_leaves = result.mean_costs;
  if (bias.size() == 0) {
    result.with_bias = result.second_moment;
    result.with_bias_scaled = result.second_moment_scaled;
  } else {
    const Eigen::VectorXd mean_with_bias = moments.mean + bias;
    const auto by_both = updated_by(features, mean_with_bias);
    result.with_bias = plain_estimate(features, by_both, mean_with_bias);
    result.with_bias_scaled = scaled_estimate(features, mean_with_bias);
    const Eigen::VectorXd centre = -bias;
    result.bias_leaves = paired_ratio(
        moments, ends_of(features, by_both, result.with_bias, centre), plain, confidence);
  }
  return result;
}

}  // namespace kappascope::linalg
