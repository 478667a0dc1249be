// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/density.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "kappascope/core/require.h"
#include "kappascope/linalg/density_in.h"
#include "kappascope/linalg/host_basis.h"
#include "linalg/density_sample.h"

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
    const Eigen::Index open = quadrature.residuals.maxCoeff() <= sample.slack() ? 0 : 1;
    for (Eigen::Index i = 0; i < points.size(); ++i) {
      value(i, p) = sums(nodes_to(points(i)));
      lower(i, p) = sums(std::max<Eigen::Index>(0, nodes_to(points(i) - sample.slack()) - open));
      upper(i, p) = sums(std::min(m, nodes_to(points(i) + sample.slack()) + open));
    }
  }
  Cumulative result{value.rowwise().mean(), lower.rowwise().mean(), upper.rowwise().mean()};
  if (sample.batches() == 1) {
    result.lower -= sample.largest_deviation();
    result.upper += sample.largest_deviation();
  } else {
    result.lower -= sample.reach() * over_columns(sample.independent(lower)).standard_error;
    result.upper += sample.reach() * over_columns(sample.independent(upper)).standard_error;
  }
  result.lower = result.lower.max(0);
  result.upper = result.upper.min(1);
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

void add_outliers(const Sample& sample, Eigen::Index n, double share, Density& result) {
  struct Node {
    double value, bound, weight;
  };
  std::vector<Node> nodes;
  for (Eigen::Index p = 0; p < sample.count(); ++p) {
    for (Eigen::Index i = 0; i < sample[p].nodes.size(); ++i)
      nodes.push_back({sample[p].nodes(i),
                       sample[p].residuals(i) + sample.slack(),
                       sample[p].weights(i) / static_cast<double>(sample.count())});
  }
  std::sort(
      nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.value > b.value; });
  std::size_t first = 0;
  for (double above = nodes[0].weight; above < 0.5 && first + 1 < nodes.size();)
    above += nodes[++first].weight;
  std::size_t last = first;
  const double gap = share * (sample.high() - sample.low());
  while (first > 0 && nodes[first - 1].value - nodes[first].value <= gap) --first;
  while (last + 1 < nodes.size() && nodes[last].value - nodes[last + 1].value <= gap) ++last;
  result.bulk_high = nodes[first].value;
  result.bulk_low = nodes[last].value;
  bool fresh = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i >= first && i <= last) {
      fresh = true;
      continue;
    }
    if (nodes[i].bound > gap / 2) continue;
    const Outlier next{nodes[i].value, nodes[i].bound};
    const bool same = !fresh && result.outliers.back().value - next.value <=
                                    result.outliers.back().bound + next.bound;
    if (!same) {
      result.outliers.push_back(next);
    } else if (next.bound < result.outliers.back().bound) {
      result.outliers.back() = next;
    }
    fresh = false;
  }
  Eigen::ArrayXXd outside(1, sample.count());
  for (Eigen::Index p = 0; p < sample.count(); ++p) {
    const auto at = sample[p].nodes.array();
    outside(0, p) =
        (at > result.bulk_high || at < result.bulk_low).select(sample[p].weights.array(), 0).sum();
  }
  const Spread mass = over_columns(sample.independent(outside));
  result.outlier_count = static_cast<double>(n) * mass.mean(0);
  result.outlier_count_stderr =
      static_cast<double>(n) *
      (sample.batches() == 1 ? sample.share_error(mass.mean(0)) : mass.standard_error(0));
}

void add_trace(const Sample& sample, Eigen::Index n, int starts, Density& result) {
  Eigen::ArrayXXd traces(1, sample.count());
  for (Eigen::Index p = 0; p < sample.count(); ++p)
    traces(0, p) = static_cast<double>(n) * sample[p].weights.dot(sample[p].nodes);
  const Spread trace = over_columns(sample.independent(traces));
  result.trace = trace.mean(0);
  result.trace_stderr = trace.standard_error(0);
  result.trace_lower = result.trace - sample.reach() * result.trace_stderr;
  result.trace_upper = result.trace + sample.reach() * result.trace_stderr;
  // Batches are columns here, so that the spread within each is over its starts.
  const auto batches = sample.batches();
  const Spread within = over_columns(traces.reshaped(starts, batches).transpose());
  result.start_share = within.standard_error.square().sum() /
                       static_cast<double>(batches * batches) /
                       (result.trace_stderr * result.trace_stderr);
}

}  // namespace

const char* to_string(Reorthogonalisation reorthogonalisation) {
  return reorthogonalisation == Reorthogonalisation::kPartial ? "partial" : "none";
}

Reorthogonalisation reorthogonalisation(Eigen::Index n, const DensityOptions& options) {
  check(options);
  const auto needed = std::min<Eigen::Index>(options.steps, n) + 1;
  return options.max_vectors == 0 || needed <= options.max_vectors ? Reorthogonalisation::kPartial
                                                                   : Reorthogonalisation::kNone;
}

Density density_from(const std::vector<Quadrature>& quadratures,
                     Eigen::Index n,
                     double product_noise,
                     const DensityOptions& options) {
  check(options);
  require(!quadratures.empty(), "a density needs one start at least");
  Density result;
  result.reorthogonalisation = reorthogonalisation(n, options);
  Eigen::Index count = 0;
  for (const Quadrature& quadrature : quadratures) {
    result.products += quadrature.products;
    count += quadrature.nodes.size();
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
  const Sample sample(quadratures, n, product_noise, options.starts);
  result.batches = static_cast<int>(sample.batches());
  // A multiple of the identity has no range; its own size, or 1 for the zero operator, stands in.
  const double range = sample.high() > sample.low() ? sample.high() - sample.low()
                       : sample.largest() > 0       ? sample.largest()
                                                    : 1;
  const double sigma = options.bandwidth * range;
  result.grid = Eigen::VectorXd::LinSpaced(
      options.points, sample.low() - 4 * sigma, sample.high() + 4 * sigma);
  result.nodes.resize(count);
  result.weights.resize(count);
  Eigen::ArrayXXd densities = Eigen::ArrayXXd::Zero(options.points, sample.count());
  const double peak = 1 / (sigma * std::sqrt(2 * std::numbers::pi));
  Eigen::Index next = 0;
  for (Eigen::Index p = 0; p < sample.count(); ++p) {
    const Eigen::Index m = sample[p].nodes.size();
    for (Eigen::Index i = 0; i < m; ++i) {
      const Eigen::ArrayXd z = (result.grid.array() - sample[p].nodes(i)) / sigma;
      densities.col(p) += sample[p].weights(i) * peak * (-0.5 * z.square()).exp();
    }
    result.nodes.segment(next, m) = sample[p].nodes;
    result.weights.segment(next, m) = sample[p].weights / static_cast<double>(sample.count());
    next += m;
  }
  const Spread density = over_columns(sample.independent(densities));
  result.density = density.mean;
  result.lower = (density.mean - sample.reach() * density.standard_error).unaryExpr([](double x) {
    return x < 0 ? 0 : x;
  });
  result.upper = density.mean + sample.reach() * density.standard_error;
  const Cumulative cumulated = cumulative(sample, result.grid);
  result.cumulative = cumulated.value;
  result.cumulative_lower = cumulated.lower;
  result.cumulative_upper = cumulated.upper;
  add_trace(sample, n, options.starts, result);
  add_shares(sample, result);
  add_outliers(sample, n, options.outlier_gap, result);
  return result;
}

Density spectral_density(const SymmetricOperator& op, const DensityOptions& options) {
  return spectral_density(std::span(&op, 1), options);
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
