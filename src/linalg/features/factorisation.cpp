// SPDX-License-Identifier: Apache-2.0
// One Cholesky factor, and Lanczos at both ends.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kappascope/core/statistics.h"
#include "kappascope/linalg/density.h"
#include "linalg/features/conditioning.h"
#include "linalg/features/paired_ratio.h"
#include "linalg/features/shrinkage.h"
#include "linalg/features/spectral_shape.h"

namespace kappascope::linalg {
namespace {

/// All that the estimates are made from; the moments without their covariance.
struct Wide {
  const Moments& moments;
  const FactoredCovariance& factored;
  const FactorisationOptions& options;
  RowTails tails;
  int products = 0;
  Rounding share = {};
};

double trace_of(const Wide& wide, const Eigen::VectorXd& v, const Eigen::VectorXd& scale) {
  return (scale.array().square() * (wide.factored.variances().array() + v.array().square())).sum();
}

/// The fourth moment of scale ∘ (x + bias), or of scale ∘ (x - μ) where v is zero.
double fourth_moment(const Wide& wide,
                     double trace,
                     double frobenius_squared,
                     const Eigen::VectorXd& v,
                     const Eigen::VectorXd& scale) {
  if (wide.moments.fourth.known() && (scale.array() == 1).all())
    return fourth_moment_about(wide.moments.fourth, v, v.dot(wide.factored.multiply(v)));
  if (wide.moments.sample.rows() == 0) {
    return gaussian_fourth_moment(trace, frobenius_squared, v.cwiseProduct(scale).squaredNorm());
  }
  return sample_fourth_moment(wide.moments.sample, wide.moments.mean - v, scale);
}

KappaEstimate estimate(Wide& wide,
                       const Eigen::VectorXd& v,
                       const Eigen::VectorXd& scale,
                       const SpectrumEnds& ends,
                       bool diagonal_scaled = false) {
  const Moments& moments = wide.moments;
  const Eigen::Index d = v.size();
  KappaFacts facts;
  facts.dimension = d;
  facts.n = moments.n;
  facts.n_effective = moments.n_effective;
  facts.diagonal_scaled = diagonal_scaled;
  if (!diagonal_scaled) facts.update = v;
  facts.trace = trace_of(wide, v, scale);
  facts.frobenius_squared = wide.factored.squared_norm(v, scale);
  facts.fourth = fourth_moment(wide, facts.trace, facts.frobenius_squared, v, scale);
  facts.lambda_max = ends.largest.value;
  facts.lambda_max_bound = ends.largest.bound;
  facts.null_dimension = ends.null_dimension;
  facts.null_threshold = facts.solver_rounding = ends.null_threshold;
  facts.constant_directions = constant_directions(wide.factored.variances(), v);
  facts.share = wide.share;
  facts.at_top = largest_rounding(moments, scale);
  facts.converged = ends.largest.status == KrylovStatus::kConverged;
  if (!wide.factored.factored()) {
    // n rows span n - 1 directions about their mean, and the update may add one.
    const Eigen::Index rank = std::min<Eigen::Index>(d, moments.n - (v.isZero(0) ? 1 : 0));
    facts.null_dimension = std::max(facts.null_dimension, d - rank);
    facts.converged = facts.converged && facts.null_dimension > 0;
  }
  facts.smallest_positive = std::numeric_limits<double>::quiet_NaN();
  if (facts.null_dimension < d && ends.smallest.vector.size() > 0) {
    facts.smallest_positive = ends.smallest.value;
    facts.at_bottom = rounding_along(moments, scale.cwiseProduct(ends.smallest.vector));
    facts.lambda_min_bound = ends.smallest.bound;
    facts.converged = facts.converged && ends.smallest.status == KrylovStatus::kConverged;
  }
  if (facts.null_dimension == 0) facts.lambda_min = facts.smallest_positive;
  return kappa_estimate(facts, wide.tails, wide.options.confidence);
}

SpectrumEnds ends_of(Wide& wide,
                     const Eigen::VectorXd& v,
                     const Eigen::VectorXd& scale,
                     const SpectrumEnds& start,
                     double threshold) {
  SpectrumEnds ends = wide.factored.ends(v, scale, start, threshold);
  wide.products += ends.products;
  return ends;
}

/// κ of Σ + v vᵀ with unit diagonal.
KappaEstimate scaled_estimate(Wide& wide, const Eigen::VectorXd& v, SpectrumEnds& start) {
  const Eigen::VectorXd scale =
      (wide.factored.variances() + v.cwiseAbs2()).unaryExpr([](double entry) {
        return entry > 0 ? 1 / std::sqrt(entry) : 0.0;
      });
  start = ends_of(wide, v, scale, start, 0);
  return estimate(wide, v, scale, start, /*diagonal_scaled=*/true);
}

/// The ends as paired_ratio() takes them; without vectors where they did not converge.
MatrixEnds ends_about(const Eigen::VectorXd& centre, const SpectrumEnds& ends) {
  MatrixEnds found{centre, ends.largest.value, ends.smallest.value, {}, {}};
  const bool converged = ends.largest.status == KrylovStatus::kConverged &&
                         ends.smallest.status == KrylovStatus::kConverged;
  if (converged && ends.null_dimension == 0) {
    found.top = ends.largest.vector;
    found.bottom = ends.smallest.vector;
  }
  return found;
}

double kurtosis_along(const Eigen::MatrixXd& centred, const Eigen::VectorXd& direction) {
  const Eigen::ArrayXd squares = (centred * direction).array().square();
  const double second = squares.mean();
  return second > 0 ? squares.square().mean() / (second * second) : 0;
}

RowTails tails_of(const Wide& wide, const SpectrumEnds& sigma) {
  const Moments& moments = wide.moments;
  if (moments.sample.rows() == 0 || !wide.factored.factored()) return {};
  Eigen::MatrixXd rows = moments.sample.cast<double>().rowwise() - moments.mean.transpose();
  double kurtosis = kurtosis_along(rows, sigma.largest.vector);
  if (sigma.smallest.vector.size() > 0)
    kurtosis = std::max(kurtosis, kurtosis_along(rows, sigma.smallest.vector));
  wide.factored.whiten(rows);
  std::vector<Eigen::Index> alive;
  const Eigen::VectorXd variances = wide.factored.variances();
  for (Eigen::Index j = 0; j < variances.size(); ++j) {
    if (variances(j) > 0) alive.push_back(j);
  }
  const RowMatrixF whitened = rows(Eigen::all, alive).cast<float>();
  RowTails tails = row_tails(whitened, static_cast<double>(moments.n), wide.options.confidence);
  tails.kurtosis = std::max(tails.kurtosis, kurtosis);
  return tails;
}

/// Of a matrix that rounding made indefinite nothing is known.
void set_share(Wide& wide, const SpectrumEnds& sigma) {
  if (!wide.factored.factored()) {
    wide.share = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    return;
  }
  wide.share = rounding_share(wide.moments, sigma.smallest.value, [&](const Eigen::VectorXd& x) {
    ++wide.products;
    return wide.factored.solve(x);
  });
}

/// Σ's spectrum as the nodes of one quadrature a random vector.
ShapeFacts shape_of(Wide& wide, const SpectrumEnds& sigma) {
  const Eigen::Index d = wide.factored.dimension();
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(d), unscaled = Eigen::VectorXd::Ones(d);
  ShapeFacts facts;
  facts.dimension = static_cast<double>(d);
  facts.trace = trace_of(wide, zero, unscaled);
  facts.frobenius_squared = wide.factored.squared_norm(zero, unscaled);
  facts.fourth = fourth_moment(wide, facts.trace, facts.frobenius_squared, zero, unscaled);
  facts.lambda_max = sigma.largest.value;
  facts.lambda_max_bound = sigma.largest.bound;
  facts.n_effective = wide.moments.n_effective;
  const SymmetricOperator op{.size = d, .apply = [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
                               y = wide.factored.multiply(x);
                             }};
  const int probes = std::max(2, wide.options.rank_probes);
  Eigen::ArrayXd entropies(probes);
  for (int p = 0; p < probes; ++p) {
    DensityOptions density;
    density.steps = wide.options.rank_steps;
    density.starts = 1;
    density.points = 2;
    density.seed = wide.options.factor.seed + static_cast<std::uint64_t>(p);
    const Density found = spectral_density(op, density);
    wide.products += found.products;
    const Eigen::ArrayXd nodes = found.nodes.array().max(0);
    const Eigen::ArrayXd weights = static_cast<double>(d) * found.weights.array();
    // By the vector's own trace: the two errors are nearly one.
    entropies(p) = entropy(nodes, weights, facts.trace) * facts.trace / (weights * nodes).sum();
    const Eigen::Index before = facts.values.size();
    facts.values.conservativeResize(before + nodes.size());
    facts.weights.conservativeResize(before + nodes.size());
    facts.values.tail(nodes.size()) = nodes;
    facts.weights.tail(nodes.size()) = weights / probes;
  }
  facts.entropy = entropies.mean();
  const double error =
      std::sqrt((entropies - facts.entropy).square().sum() / (probes - 1.0) / probes);
  facts.entropy_error = student_quantile((1 + wide.options.confidence) / 2, probes - 1) * error;
  return facts;
}

}  // namespace

Conditioning conditioning_by_factorisation(Moments moments,
                                           const Eigen::VectorXd& bias,
                                           const FactorisationOptions& options) {
  const Eigen::Index d = moments.mean.size();
  check_question(moments, bias, options.confidence);
  if (d == 0 || moments.n < 2 || !moments.covariance.allFinite() || !moments.mean.allFinite()) {
    return without_spectrum(moments, options.confidence);
  }
  const Eigen::VectorXd& mu = moments.mean;
  const Eigen::VectorXd variances = moments.covariance.diagonal();
  const bool enough = moments.n - 1 >= (variances.array() > 0).count();
  const FactoredCovariance factored(std::move(moments.covariance), options.factor, enough);
  Wide wide{moments, factored, options, {}};
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(d), unscaled = Eigen::VectorXd::Ones(d);
  const SpectrumEnds sigma = ends_of(wide, zero, unscaled, {}, 0);
  wide.tails = tails_of(wide, sigma);
  add_sums_of_all_rows(moments,
                       factored.squared_norm(zero, unscaled),
                       {sigma.largest.value, sigma.largest.vector},
                       {sigma.smallest.value, sigma.smallest.vector},
                       wide.tails);
  if (enough) set_share(wide, sigma);

  Conditioning result;
  result.route = Route::kFactorisation;
  count_constants(moments.n, mu, variances, result);
  const double trace = variances.sum();
  if (trace > 0) {
    set_shape(
        moments,
        shape_of(wide, sigma),
        wide.tails,
        [&](const Eigen::VectorXd& x) { return factored.multiply(x); },
        options.confidence,
        result);
  }
  result.variance_along_mean = mu.dot(factored.multiply(mu)) / mu.squaredNorm();
  result.average_variance = trace / static_cast<double>(d);
  result.sum_rounding = wide.share.sums;
  result.kurtosis = wide.tails.kurtosis;
  result.assumed_gaussian = moments.sample.rows() == 0;

  const double threshold = sigma.null_threshold;
  const SpectrumEnds second = ends_of(wide, mu, unscaled, sigma, threshold);
  result.sigma = estimate(wide, zero, unscaled, sigma);
  result.second_moment = estimate(wide, mu, unscaled, second);
  SpectrumEnds scaled;
  result.sigma_scaled = scaled_estimate(wide, zero, scaled);
  result.second_moment_scaled = scaled_estimate(wide, mu, scaled);
  result.with_bias = result.second_moment;
  result.with_bias_scaled = result.second_moment_scaled;
  const auto plain = ends_about(mu, sigma);
  result.mean_costs = paired_ratio(moments, ends_about(zero, second), plain, options.confidence);
  result.bias_leaves = result.mean_costs;
  if (bias.size() > 0) {
    const Eigen::VectorXd v = mu + bias, centre = -bias;
    const SpectrumEnds with_bias = ends_of(wide, v, unscaled, second, threshold);
    result.with_bias = estimate(wide, v, unscaled, with_bias);
    result.bias_leaves =
        paired_ratio(moments, ends_about(centre, with_bias), plain, options.confidence);
    result.with_bias_scaled = scaled_estimate(wide, v, scaled);
  }
  if (second.null_dimension < sigma.null_dimension) {
    result.mean_leverage = 1;
  } else if (factored.factored()) {
    const double m = mu.dot(factored.solve(mu));
    result.mean_leverage = m / (1 + m);
  } else {
    result.mean_leverage = std::numeric_limits<double>::quiet_NaN();
  }
  result.products = wide.products;
  return result;
}

}  // namespace kappascope::linalg
