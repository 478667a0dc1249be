// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/density.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kappascope/core/error.h"
#include "kappascope/linalg/sampling.h"

namespace kappascope::linalg {
namespace {

/// Mean over probes (columns) and its standard error; NaN for a single probe.
struct Spread {
  Eigen::ArrayXd mean, standard_error;
};
Spread over_probes(const Eigen::ArrayXXd& values) {
  const double probes = static_cast<double>(values.cols());
  Spread spread{values.rowwise().mean(), {}};
  const Eigen::ArrayXd squares = (values.colwise() - spread.mean).square().rowwise().sum();
  spread.standard_error = (squares / (probes - 1) / probes).sqrt();  // 0/0 for one probe
  return spread;
}

void check(const DensityOptions& options) {
  require(options.steps >= 1 && options.probes >= 1 && options.points >= 2 && options.bandwidth > 0,
          "a density needs steps, probes >= 1, points >= 2 and bandwidth > 0, got ",
          options.steps,
          ", ",
          options.probes,
          ", ",
          options.points,
          ", ",
          options.bandwidth);
}

}  // namespace

Density density_from(const std::vector<Quadrature>& probes,
                     Eigen::Index n,
                     double product_noise,
                     const DensityOptions& options) {
  check(options);
  require(!probes.empty(), "a density needs one probe at least");
  Density result;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  Eigen::Index count = 0;
  for (const Quadrature& probe : probes) {
    result.products += probe.products;
    if (!probe.finite) result.status = KrylovStatus::kNonFinite;
  }
  if (result.status == KrylovStatus::kNonFinite) {
    result.trace = result.trace_stderr = std::numeric_limits<double>::quiet_NaN();
    result.trace_lower = result.trace_upper = result.trace;
    result.negative_mass = result.near_zero_mass = result.trace;
    return result;
  }
  for (const Quadrature& probe : probes) {
    low = std::min(low, probe.nodes.minCoeff());
    high = std::max(high, probe.nodes.maxCoeff());
    count += probe.nodes.size();
  }
  const double largest = std::max(std::abs(low), std::abs(high));
  // A multiple of the identity has no range; its own size, or 1 for the zero operator, stands in.
  const double range = high > low ? high - low : (largest > 0 ? largest : 1);
  const double sigma = options.bandwidth * range;
  result.grid = Eigen::VectorXd::LinSpaced(options.points, low - 4 * sigma, high + 4 * sigma);
  result.nodes.resize(count);
  result.weights.resize(count);

  const auto columns = static_cast<Eigen::Index>(probes.size());
  Eigen::ArrayXXd densities = Eigen::ArrayXXd::Zero(options.points, columns);
  Eigen::ArrayXXd traces(1, columns);
  const double peak = 1 / (sigma * std::sqrt(2 * std::numbers::pi));
  Eigen::Index next = 0;
  for (Eigen::Index p = 0; p < columns; ++p) {
    const Quadrature& probe = probes[static_cast<std::size_t>(p)];
    const Eigen::Index m = probe.nodes.size();
    for (Eigen::Index i = 0; i < m; ++i) {
      const Eigen::ArrayXd z = (result.grid.array() - probe.nodes(i)) / sigma;
      densities.col(p) += probe.weights(i) * peak * (-0.5 * z.square()).exp();
    }
    traces(0, p) = static_cast<double>(n) * probe.weights.dot(probe.nodes);
    result.nodes.segment(next, m) = probe.nodes;
    result.weights.segment(next, m) = probe.weights / static_cast<double>(columns);
    next += m;
  }
  const Spread density = over_probes(densities);
  const Spread trace = over_probes(traces);
  const double reach = columns > 1 ? student_quantile(static_cast<int>(columns) - 1) : 1;
  result.density = density.mean;
  result.lower = (density.mean - reach * density.standard_error).unaryExpr([](double x) {
    return x < 0 ? 0 : x;
  });
  result.upper = density.mean + reach * density.standard_error;
  result.trace = trace.mean(0);
  result.trace_stderr = trace.standard_error(0);
  result.trace_lower = result.trace - reach * result.trace_stderr;
  result.trace_upper = result.trace + reach * result.trace_stderr;
  const Eigen::ArrayXd nodes = result.nodes.array();
  const Eigen::ArrayXd weights = result.weights.array();
  result.negative_mass = (nodes < -10 * product_noise * largest).select(weights, 0).sum();
  result.near_zero_mass = (nodes.abs() <= 1e-3 * largest).select(weights, 0).sum();
  return result;
}

Density spectral_density(const SymmetricOperator& op, const DensityOptions& options) {
  check(options);
  HostBasis basis(op);
  return density_from(
      quadratures_in(basis, op.product_noise, options), op.size, op.product_noise, options);
}

}  // namespace kappascope::linalg
