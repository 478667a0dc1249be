// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/density.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/require.h"
#include "linalg/density_in.h"
#include "linalg/density_sample.h"
#include "linalg/host_basis.h"
#include "linalg/outliers.h"

namespace kappascope::linalg {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void check(const DensityOptions& options) {
  require(options.steps >= 1 && options.starts >= 1 && options.points >= 2 &&
              options.bandwidth > 0 && options.outlier_gap > 0,
          "a density needs steps, starts >= 1, points >= 2, bandwidth and outlier_gap > 0, got {}, "
          "{}, {}, {}, {}",
          options.steps,
          options.starts,
          options.points,
          options.bandwidth,
          options.outlier_gap);
  require(options.max_vectors == 0 || options.max_vectors >= 3,
          "a density takes three vectors at least, got max_vectors {}",
          options.max_vectors);
}

/// The cumulative density at points, and its band.
struct Cumulative {
  Eigen::ArrayXd value, lower, upper;
};
Cumulative cumulative(const Sample& sample, const Eigen::VectorXd& points) {
  Eigen::ArrayXXd value(points.size(), sample.count()), lower = value, upper = value;
  for (Eigen::Index p = 0; p < sample.count(); ++p) {
    const Quadrature& quadrature = sample[p];
    const Eigen::Index m = quadrature.nodes.size();
    Eigen::VectorXd sums = Eigen::VectorXd::Zero(m + 1);
    std::partial_sum(quadrature.weights.begin(), quadrature.weights.end(), sums.begin() + 1);
    sums /= sums(m);
    const auto nodes_to = [&](double x) {
      return std::upper_bound(quadrature.nodes.begin(), quadrature.nodes.end(), x) -
             quadrature.nodes.begin();
    };
    // A node's own weight may lie on either side of it, unless nothing is left to see.
    const Eigen::Index open = sample.is_exact(p) ? 0 : 1;
    for (Eigen::Index i = 0; i < points.size(); ++i) {
      const double slack = sample.slack(points(i));
      value(i, p) = sums(nodes_to(points(i)));
      lower(i, p) = sums(std::max<Eigen::Index>(0, nodes_to(points(i) - slack) - open));
      upper(i, p) = sums(std::min(m, nodes_to(points(i) + slack) + open));
    }
  }
  Cumulative result{value.rowwise().mean(), lower.rowwise().mean(), upper.rowwise().mean()};
  if (sample.batches() == 1) {
    result.lower -= sample.largest_deviation();
    result.upper += sample.largest_deviation();
  } else {
    result.lower -= sample.reach() * sample.between(lower);
    result.upper += sample.reach() * sample.between(upper);
  }
  const double share = sample.rest() / sample.order();
  result.value *= share;
  result.lower = share * result.lower.max(0);
  result.upper = share * result.upper.min(1);
  for (Eigen::Index i = 0; i < points.size(); ++i) {
    const double x = points(i), slack = sample.slack(x);
    result.value(i) += sample.known_to(x);
    result.lower(i) += sample.known_to(x - slack);
    result.upper(i) += sample.known_to(x + slack);
  }
  return result;
}

void add_shares(const Sample& sample, Density& result) {
  const double zero = 1e-3 * sample.largest();
  // Just below -zero, so that a node there counts as near zero.
  const auto at = cumulative(
      sample,
      Eigen::Vector3d(std::nextafter(-sample.slack(), -1), std::nextafter(-zero, -1), zero));
  result.negative_mass = {at.value(0), at.lower(0), at.upper(0)};
  result.near_zero_mass = {at.value(2) - at.value(1),
                           std::max(0.0, at.lower(2) - at.upper(1)),
                           at.upper(2) - at.lower(1)};
}

void add_trace(const Sample& sample, Density& result) {
  Eigen::ArrayXXd means(1, sample.count()), squares = means;
  for (Eigen::Index p = 0; p < sample.count(); ++p)
    means(0, p) = sample[p].weights.dot(sample[p].nodes);
  const double centre = means.mean();
  for (Eigen::Index p = 0; p < sample.count(); ++p) {
    const Eigen::VectorXd away = sample[p].nodes.array() - centre;
    // Of one node: what the quadrature of two would add.
    const double missed = away.size() == 1 ? sample[p].residuals(0) : 0;
    squares(0, p) = sample[p].weights.dot(away.cwiseAbs2()) + missed * missed;
  }
  means -= centre;
  const double error = sample.estimates(means, squares).error(0);
  result.trace = sample.known().values.sum() + sample.rest() * centre;
  result.trace_stderr = sample.rest() * error;
  const double noise = static_cast<double>(sample.known().count()) * sample.noise();
  const double reach = sample.reach() * result.trace_stderr + noise;
  result.trace_lower = result.trace - reach;
  result.trace_upper = result.trace + reach;
  result.start_share = std::pow(sample.within(means, squares)(0) / error, 2);
}

/// The smoothed density, its band, and the nodes that it is of.
void add_density(const Sample& sample, double sigma, Density& result) {
  const double peak = 1 / (sigma * std::sqrt(2 * std::numbers::pi));
  const auto kernel = [&](const Eigen::ArrayXd& distances) -> Eigen::ArrayXd {
    return peak * (-0.5 * (distances / sigma).square()).exp();
  };
  const Eigen::ArrayXd grid = result.grid;
  Eigen::ArrayXXd values = Eigen::ArrayXXd::Zero(grid.size(), sample.count()), squares = values;
  Eigen::ArrayXd open = Eigen::ArrayXd::Zero(grid.size());
  for (Eigen::Index p = 0; p < sample.count(); ++p) {
    const Quadrature& quadrature = sample[p];
    for (Eigen::Index i = 0; i < quadrature.nodes.size(); ++i) {
      const Eigen::ArrayXd seen = kernel(grid - quadrature.nodes(i));
      values.col(p) += quadrature.weights(i) * seen;
      squares.col(p) += quadrature.weights(i) * seen.square();
    }
    if (sample.is_exact(p)) continue;
    open += values.col(p);
    for (Eigen::Index i = 0; i < quadrature.nodes_before.size(); ++i)
      open -= quadrature.weights_before(i) * kernel(grid - quadrature.nodes_before(i));
  }
  open = open.abs() / static_cast<double>(sample.count());
  const Estimates found = sample.estimates(values, squares);
  const double share = sample.rest() / sample.order();
  const Eigen::ArrayXd reach = share * (sample.reach() * found.error + open);
  result.density = share * found.mean;
  result.lower = (result.density.array() - reach).max(0);
  result.upper = result.density.array() + reach;
  const KnownEigenvalues& known = sample.known();
  for (Eigen::Index i = 0; i < known.count(); ++i) {
    const Eigen::ArrayXd distances = (grid - known.values(i)).abs();
    const double bound = known.bounds(i);
    result.density.array() += kernel(distances) / sample.order();
    result.lower.array() += kernel(distances + bound) / sample.order();
    result.upper.array() += kernel((distances - bound).max(0)) / sample.order();
  }
}

/// Weights sum to 1 over all.
void add_nodes(const Sample& sample, Density& result) {
  const KnownEigenvalues& known = sample.known();
  std::vector<double> nodes(known.values.begin(), known.values.end());
  std::vector<double> weights(nodes.size(), 1 / sample.order());
  for (Eigen::Index p = 0; p < sample.count(); ++p) {
    nodes.insert(nodes.end(), sample[p].nodes.begin(), sample[p].nodes.end());
    for (const double weight : sample[p].weights)
      weights.push_back(weight * sample.rest() / sample.order() /
                        static_cast<double>(sample.count()));
  }
  result.nodes = Eigen::Map<Eigen::VectorXd>(nodes.data(), std::ssize(nodes));
  result.weights = Eigen::Map<Eigen::VectorXd>(weights.data(), std::ssize(weights));
}

}  // namespace

const char* to_string(Reorthogonalisation reorthogonalisation) {
  return reorthogonalisation == Reorthogonalisation::kPartial ? "partial" : "none";
}

Reorthogonalisation reorthogonalisation(Eigen::Index n,
                                        const DensityOptions& options,
                                        Eigen::Index known) {
  check(options);
  const auto needed = std::min<Eigen::Index>(options.steps + known, n) + 1;
  return options.max_vectors == 0 || needed <= options.max_vectors ? Reorthogonalisation::kPartial
                                                                   : Reorthogonalisation::kNone;
}

KnownEigenvalues known_eigenvalues(const ExtremeEigenvalues& found, Eigen::Index n) {
  constexpr double kWellKnown = 0.01;
  KnownEigenvalues known;
  // Where products contradict each other, residuals bound nothing; packed vectors are orthonormal
  // to their rounding alone.
  if (found.status == KrylovStatus::kInconsistent || found.packed_vectors ||
      found.eigenvalues.size() == 0)
    return known;
  const Eigen::VectorXd bounds = found.bounds();
  for (Eigen::Index i = 0; i < bounds.size() && std::ssize(known.pairs) < n - 1; ++i) {
    if (bounds(i) <= kWellKnown * std::abs(found.eigenvalues(i))) known.pairs.push_back(i);
  }
  known.values = found.eigenvalues(known.pairs);
  known.bounds = bounds(known.pairs);
  return known;
}

Density density_from(const std::vector<Quadrature>& quadratures,
                     Eigen::Index n,
                     double product_noise,
                     const DensityOptions& options,
                     const KnownEigenvalues& known) {
  check(options);
  require(!quadratures.empty(), "a density needs one start at least");
  Density result;
  result.reorthogonalisation = reorthogonalisation(n, options, known.count());
  for (const Quadrature& quadrature : quadratures) {
    result.products += quadrature.products;
    if (!quadrature.finite) result.status = KrylovStatus::kNonFinite;
  }
  if (result.status == KrylovStatus::kNonFinite) {
    result.trace = result.trace_stderr = result.trace_lower = result.trace_upper = kNan;
    return result;
  }
  require(std::ssize(quadratures) % options.starts == 0,
          "a density needs {} starts of each batch, got {} in all",
          options.starts,
          quadratures.size());
  const Sample sample(quadratures, n, product_noise, options.starts, known);
  result.batches = static_cast<int>(sample.batches());
  result.known = static_cast<int>(known.count());
  // A multiple of the identity has no range; its own size, or 1 for the zero operator, stands in.
  const double range = sample.high() > sample.low() ? sample.high() - sample.low()
                       : sample.largest() > 0       ? sample.largest()
                                                    : 1;
  const double sigma = options.bandwidth * range;
  result.grid = Eigen::VectorXd::LinSpaced(
      options.points, sample.low() - 4 * sigma, sample.high() + 4 * sigma);
  add_nodes(sample, result);
  add_density(sample, sigma, result);
  const Cumulative cumulated = cumulative(sample, result.grid);
  result.cumulative = cumulated.value;
  result.cumulative_lower = cumulated.lower;
  result.cumulative_upper = cumulated.upper;
  add_trace(sample, result);
  add_shares(sample, result);
  add_outliers(sample, options.outlier_gap, result);
  return result;
}

Density spectral_density(const SymmetricOperator& op,
                         const DensityOptions& options,
                         const LanczosResult& known) {
  check(options);
  require(known.eigenvectors.cols() == known.eigenvalues.size() &&
              (known.eigenvalues.size() == 0 || known.eigenvectors.rows() == op.size),
          "the known pairs of a density need their eigenvectors, of its order");
  HostBasis basis(op);
  const KnownEigenvalues exact = known_eigenvalues(known, op.size);
  const auto quadratures =
      quadratures_in(basis, op.product_noise, options, 0, exact, [&](Eigen::Index i) {
        basis.load(known.eigenvectors.col(i));
      });
  return density_from(quadratures, op.size, op.product_noise, options, exact);
}

Density spectral_density(std::span<const SymmetricOperator> batches,
                         const DensityOptions& options) {
  check(options);
  require(!batches.empty(), "a density needs one operator at least");
  std::vector<Quadrature> quadratures;
  double noise = 0;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    require(batches[b].size == batches[0].size,
            "the operators of a density must be of one order, got {} and {}",
            batches[0].size,
            batches[b].size);
    HostBasis basis(batches[b]);
    noise = std::max(noise, batches[b].product_noise);
    const auto found =
        quadratures_in(basis, batches[b].product_noise, options, static_cast<int>(b));
    quadratures.insert(quadratures.end(), found.begin(), found.end());
    if (!quadratures.back().finite) break;
  }
  return density_from(quadratures, batches[0].size, noise, options);
}

}  // namespace kappascope::linalg
