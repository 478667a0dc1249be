// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/sampling_bounds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "kappascope/core/statistics.h"

namespace kappascope::linalg {
namespace {

/// The argument at which an increasing function passes `target`.
double bisect(double low, double high, double target, const std::function<double(double)>& f) {
  for (int i = 0; i < 200 && high - low > 1e-14 * std::abs(high); ++i) {
    const double middle = 0.5 * (low + high);
    (f(middle) < target ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// Edges of the limiting spectrum of (1/n) Gᵀ diag(t) G for d/n = gamma. The Stieltjes transform m
/// of the law has the inverse z(m) = -1/m + E[t / (1 + γ t m)], and an edge is where z'(m) = 0,
/// that is E[(ut/(1+ut))²] = γ in u = γ m: u > 0 for the lower edge, -1/max t < u < 0 for the
/// upper.
double lower_edge(const RowTails& tails, double gamma) {
  const Eigen::ArrayXd t = tails.weights.array();
  const Eigen::ArrayXd p = tails.masses.array();
  const auto slope = [&](double log_u) {
    const Eigen::ArrayXd ut = std::exp(log_u) * t;
    return (p * (ut / (1 + ut)).square()).sum();
  };
  const double u = std::exp(bisect(-40, 40, gamma, slope));
  return std::max(0.0, -gamma / u + (p * t / (1 + u * t)).sum());
}

double upper_edge(const RowTails& tails, double gamma) {
  const Eigen::ArrayXd t = tails.weights.array();
  const Eigen::ArrayXd p = tails.masses.array();
  const double limit = 1 / t.maxCoeff();
  const auto slope = [&](double w) { return (p * (w * t / (1 - w * t)).square()).sum(); };
  const double w = bisect(0, limit, gamma, slope);
  return gamma / w + (p * t / (1 - w * t)).sum();
}

/// The quantile of a chi-squared over its degrees of freedom. Without any the variable is anywhere
/// above zero, and its lower end stands for it.
double scaled_chi_squared_quantile(double probability, double freedom) {
  return freedom > 0 ? chi_squared_quantile(probability, freedom) / freedom : 0;
}

/// {low, high} that such a variable lies between but for `failure` on either side.
std::pair<double, double> scaled_chi_squared_range(double freedom, double failure) {
  return {scaled_chi_squared_quantile(failure, freedom),
          scaled_chi_squared_quantile(1 - failure, freedom)};
}

/// Replaces the upper tenth of the sorted weights of k kept rows by a Pareto tail up to the largest
/// weight that n rows would show.
RowTails extrapolate(const std::vector<double>& ascending, double n, double confidence) {
  const std::size_t k = ascending.size();
  const std::size_t tail = std::min(k - 1, std::max<std::size_t>(8, k / 10));
  // A tenth of the mean is no tail; below it (rows that almost all vanish) a logarithm means
  // nothing.
  const double threshold = std::max(ascending[k - tail - 1], 0.1);
  double log_excess = 0;  // 1/α of Hill's estimate
  for (std::size_t i = k - tail; i < k; ++i)
    log_excess += std::max(0.0, std::log(ascending[i] / threshold));
  // One standard error of Hill's estimate on the safe side: the whole extrapolation hangs on it.
  log_excess *= (1 + 1 / std::sqrt(static_cast<double>(tail))) / static_cast<double>(tail);

  std::vector<double> weights(ascending.begin(), ascending.end() - static_cast<long>(tail));
  std::vector<double> masses(weights.size(), 1 / static_cast<double>(k));
  const double tail_mass = static_cast<double>(tail) / static_cast<double>(k);
  // The tail by strata of halving mass, each at its geometric middle; the last row at the quantile.
  double survival = tail_mass;
  while (survival > 2 / n) {
    const double next = 0.5 * survival;
    weights.push_back(threshold *
                      std::pow(survival * next / (tail_mass * tail_mass), -0.5 * log_excess));
    masses.push_back(survival - next);
    survival = next;
  }
  const double of_maximum = -std::log(confidence) / n;
  weights.push_back(threshold * std::pow(of_maximum / tail_mass, -log_excess));
  masses.push_back(survival);
  RowTails tails;
  tails.weights = Eigen::Map<Eigen::VectorXd>(weights.data(), static_cast<long>(weights.size()));
  tails.masses = Eigen::Map<Eigen::VectorXd>(masses.data(), static_cast<long>(masses.size()));
  return tails;
}

}  // namespace

double tracy_widom_quantile(double probability) {
  const double shape = 46.446;
  return 0.186054 * shape * scaled_chi_squared_quantile(probability, 2 * shape) - 9.84801;
}

RowTails row_tails(const RowMatrixF& whitened, double n, double confidence) {
  const Eigen::Index k = whitened.rows();
  const double d = static_cast<double>(whitened.cols());
  if (k < 8 || whitened.cols() == 0) return {};
  const Eigen::MatrixXd rows = whitened.cast<double>();

  std::vector<double> weights(static_cast<std::size_t>(k));
  for (Eigen::Index i = 0; i < k; ++i) {
    const double share = std::min(rows.row(i).squaredNorm() / n, 0.999);
    weights[static_cast<std::size_t>(i)] = share / (1 - share);
  }
  Eigen::Map<Eigen::ArrayXd> t(weights.data(), k);
  t /= t.mean();
  // Gaussian rows would spread as an F(d, n-d) variable: only what exceeds that is weight.
  const double seen = (t - 1).square().mean();
  const double rest = n - d;
  const double gaussian = rest > 4 ? 2 * (d + rest - 2) / (d * (rest - 4)) : seen;
  t = 1 + (t - 1) * std::sqrt(std::max(0.0, 1 - gaussian / std::max(seen, gaussian)));
  std::sort(weights.begin(), weights.end());

  RowTails tails;
  if (static_cast<double>(k) < n) {
    tails = extrapolate(weights, n, confidence);
  } else {
    tails.weights = t.matrix();
    tails.masses = Eigen::VectorXd::Constant(k, 1 / static_cast<double>(k));
  }
  const Eigen::ArrayXd fourth = rows.array().square().square().colwise().mean();
  const Eigen::ArrayXd second = rows.array().square().colwise().mean();
  const Eigen::ArrayXd kurtosis = fourth / second.square().max(1e-300);
  // A condition number lives at the ends of the spectrum, whose features may be the heavy ones.
  tails.kurtosis = std::max({3.0, kurtosis.mean(), kurtosis(0), kurtosis(kurtosis.size() - 1)});
  return tails;
}

SamplingBounds sampling_bounds(
    const RowTails& tails, double n, double d, double top_rank, double failure) {
  SamplingBounds bounds;
  const auto along = [&](double kurtosis) {
    return scaled_chi_squared_range(2 * n / (std::max(tails.kurtosis, kurtosis) - 1), failure);
  };
  const auto [top_low, top_high] = along(tails.top_kurtosis);
  const auto [bottom_low, bottom_high] = along(tails.bottom_kurtosis);
  bounds.along_low = top_low;
  bounds.along_high = bottom_high;

  n = std::max(2.0, n / tails.unseen);  // fewer say nothing of W either
  const double extreme = tracy_widom_quantile(1 - failure);
  const double root_n = std::sqrt(std::max(n - 1.5, 0.5));  // the mean takes one degree of freedom
  const double root_top = std::sqrt(std::max(top_rank - 0.5, 0.5));
  const double top_width = (root_n + root_top) * std::cbrt(1 / root_n + 1 / root_top);
  bounds.top = (std::pow(root_n + root_top, 2) + top_width * extreme) / (n - 1);
  if (n > d + 1) {
    const double root_d = std::sqrt(std::max(d - 0.5, 0.5));
    const double edge = std::pow(root_n - root_d, 2);
    const double width = (root_n - root_d) * std::cbrt(1 / root_d - 1 / root_n) / edge;
    bounds.bottom = edge / (n - 1) * std::exp(width * width / 8 - width * extreme);
  }
  if (tails.weights.size() > 0) {
    const double gamma = d / (n - 1);
    const double top_gamma = top_rank / (n - 1);
    bounds.top *= upper_edge(tails, top_gamma) / std::pow(1 + std::sqrt(top_gamma), 2);
    if (gamma < 1) {
      bounds.bottom *= lower_edge(tails, gamma) / std::pow(1 - std::sqrt(gamma), 2);
    }
  }
  // No maximum over directions is below what a single direction may show.
  bounds.top = std::max(bounds.top, top_high);
  bounds.bottom = std::min(bounds.bottom, bottom_low);
  return bounds;
}

void add_sums_of_all_rows(const Moments& moments,
                          double frobenius_squared,
                          const EndDirection& top,
                          const EndDirection& bottom,
                          RowTails& tails) {
  const FourthMoments& fourth = moments.fourth;
  if (!fourth.known() || !(moments.n_effective > 0)) return;
  const double n = moments.n_effective;
  const Eigen::ArrayXd squares = fourth.variances.array().square();
  for (Eigen::Index j = 0; j < squares.size(); ++j) {
    const double excess = fourth.variance_excess(j);
    if (excess > 0)
      tails.heavy.push_back(
          {j, fourth.variances(j), 2 * squares(j) / (2 * squares(j) / n + excess)});
  }
  const auto kurtosis_along = [&](const EndDirection& end) {
    if (end.vector.size() == 0 || !(end.value > 0)) return 3.0;
    const Eigen::VectorXd fourth_powers = end.vector.array().square().square();
    return 3 + n * fourth_powers.dot(fourth.variance_excess) / end.value / end.value;
  };
  tails.top_kurtosis = kurtosis_along(top);
  tails.bottom_kurtosis = kurtosis_along(bottom);
  const double trace = fourth.variances.sum();
  const double gaussian = trace * trace + 2 * frobenius_squared;
  const double rows = fourth.length - gaussian - (fourth.features.array() - 3 * squares).sum();
  const double share = rows / (gaussian - 3 * squares.sum());
  if (!(share > 3 * std::sqrt(8 / n))) return;
  tails.kurtosis = std::max(tails.kurtosis, 3 * (1 + share));
  const double kept = tails.weights.size() > 0 ? tails.masses.dot(tails.weights.cwiseAbs2()) /
                                                     std::pow(tails.masses.dot(tails.weights), 2)
                                               : 1;
  tails.unseen = std::max(1.0, (1 + share) / kept);
}

DiagonalRange heavy_diagonal(const RowTails& tails, const Eigen::VectorXd& v, double failure) {
  DiagonalRange range{0, std::numeric_limits<double>::infinity()};
  for (const auto& [feature, variance, freedom] : tails.heavy) {
    const auto [low, high] =
        scaled_chi_squared_range(freedom, failure / static_cast<double>(tails.heavy.size()));
    const double constant = std::pow(v(feature), 2);
    range.largest = std::max(range.largest, variance / low + constant);
    range.smallest = std::min(range.smallest, variance / high + constant);
  }
  return range;
}

SamplingBounds sharpened_bounds(
    const RowTails& tails, double n, double d, double sample_rank, double failure) {
  SamplingBounds bounds = sampling_bounds(tails, n, d, d, failure);
  for (int i = 0; i < 3; ++i) {
    const double rank = sample_rank * bounds.top / std::max(bounds.along_low, 1e-3);
    bounds = sampling_bounds(tails, n, d, std::clamp(rank, 1.0, d), failure);
  }
  return bounds;
}

double feature_variance_factor(const RowTails& tails, double n, double d, double failure) {
  const double freedom = 2 * n / (tails.kurtosis - 1);
  const double low = scaled_chi_squared_quantile(failure / (2 * d), freedom);
  const double high = scaled_chi_squared_quantile(1 - failure / (2 * d), freedom);
  return high / low;
}

}  // namespace kappascope::linalg
