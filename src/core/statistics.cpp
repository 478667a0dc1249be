// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/statistics.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/require.h"

namespace kappascope {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double variance(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return squares / (n - 1);
}

/// The places of the values that are numbers, by value.
std::vector<std::size_t> ascending(std::span<const double> p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });
  return order;
}

void check_probability(double probability) {
  require(0 < probability && probability < 1, "a quantile needs 0 < p < 1, got {}", probability);
}

}  // namespace

double normal_quantile(double probability) {
  check_probability(probability);
  return boost::math::quantile(boost::math::normal(), probability);
}

double student_quantile(double probability, double freedom) {
  check_probability(probability);
  if (!(freedom > 0)) return kNaN;
  return boost::math::quantile(boost::math::students_t(freedom), probability);
}

double chi_squared_quantile(double probability, double freedom) {
  check_probability(probability);
  if (!(freedom > 0) || std::isinf(freedom)) return kNaN;
  if (freedom > 1e8) {
    // Boost's series stops short of this; Wilson and Hilferty's (1931) error is below 1e-11.
    const double a = 2 / (9 * freedom), root = 1 - a + normal_quantile(probability) * std::sqrt(a);
    return freedom * root * root * root;
  }
  return boost::math::quantile(boost::math::chi_squared(freedom), probability);
}

Interval wilson(double share, double n) {
  if (n <= 0) return {0, 1};
  const double z = normal_quantile(0.975), z2 = z * z;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = z / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

ClusteredShare clustered_share(std::span<const double> hits, std::span<const double> of) {
  require(hits.size() == of.size(),
          "{} clusters have hits, and {} observations",
          hits.size(),
          of.size());
  const double all = std::accumulate(of.begin(), of.end(), 0.0);
  const double share = std::accumulate(hits.begin(), hits.end(), 0.0) / all;
  if (!(all > 0)) return {kNaN, 0, {0, 1}};
  const auto clusters =
      static_cast<double>(std::ranges::count_if(of, [](double count) { return count > 0; }));
  if (clusters < 2) return {share, 0, {0, 1}};
  if (share <= 0 || share >= 1) return {share, clusters, wilson(share, clusters)};
  double variance = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const double excess = (hits[i] - share * of[i]) / all;
    variance += excess * excess * clusters / (clusters - 1);
  }
  const double wider = student_quantile(0.975, clusters - 1) / normal_quantile(0.975);
  const double n = share * (1 - share) / (variance * wider * wider);
  return {share, std::min(n, all), wilson(share, std::min(n, all))};
}

PairedDifference paired_difference(std::span<const double> a, std::span<const double> b) {
  require(a.size() == b.size(),
          "pairs need as many values of one arm ({}) as of the other ({})",
          a.size(),
          b.size());
  PairedDifference out;
  std::vector<double> differences;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = a[i] - b[i];
    if (std::isfinite(d)) {
      differences.push_back(d);
      largest = std::max({largest, std::abs(a[i]), std::abs(b[i])});
    } else {
      ++out.left_out;
    }
  }
  // 0.034 - 0.033 is not 0.001: a value of the series is known to half a unit in its last place,
  // and a sum of n differences to n of them.
  const auto n = static_cast<double>(differences.size());
  const double rounding = n * std::numeric_limits<double>::epsilon() * largest;
  out.pairs = static_cast<std::int64_t>(differences.size());
  out.mean =
      differences.empty() ? kNaN : std::accumulate(differences.begin(), differences.end(), 0.0) / n;
  if (std::abs(out.mean) <= rounding) out.mean = 0;
  out.lower = out.upper = out.p = out.effect = out.detectable = kNaN;
  if (differences.size() < 2) return out;

  const double spread = std::sqrt(variance(differences)), error = spread / std::sqrt(n);
  if (spread <= rounding) {
    if (out.mean == 0) {
      out.p = 1;
      out.effect = 0;
    }
    return out;
  }
  const boost::math::students_t student(n - 1);
  const double reach = student_quantile(0.975, n - 1);
  out.lower = out.mean - reach * error;
  out.upper = out.mean + reach * error;
  out.detectable = out.detectable_at(0.05);
  out.p = 2 * boost::math::cdf(boost::math::complement(student, std::abs(out.mean) / error));
  out.effect = out.mean / spread;
  return out;
}

bool PairedDifference::is_same_in_all() const {
  return pairs > 1 && std::isnan(lower);
}

double PairedDifference::p_above(double value) const {
  if (std::isnan(lower)) return kNaN;
  const auto freedom = static_cast<double>(pairs - 1);
  const double error = (upper - lower) / (2 * student_quantile(0.975, freedom));
  return boost::math::cdf(
      boost::math::complement(boost::math::students_t(freedom), (mean - value) / error));
}

double PairedDifference::p_below(double value) const {
  if (std::isnan(lower)) return kNaN;
  return 1 - p_above(value);
}

double PairedDifference::detectable_at(double level) const {
  if (std::isnan(lower)) return kNaN;
  const auto freedom = static_cast<double>(pairs - 1);
  const double error = (upper - lower) / (2 * student_quantile(0.975, freedom));
  return (student_quantile(1 - level / 2, freedom) + student_quantile(0.8, freedom)) * error;
}

VarianceRatio variance_ratio(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return {kNaN, kNaN, kNaN, kNaN};
  VarianceRatio out;
  out.ratio = variance(a) / variance(b);
  const boost::math::fisher_f f(static_cast<double>(a.size() - 1),
                                static_cast<double>(b.size() - 1));
  out.lower = out.ratio / boost::math::quantile(f, 0.975);
  out.upper = out.ratio / boost::math::quantile(f, 0.025);
  out.p = kNaN;
  if (std::isfinite(out.ratio)) {
    const double below = boost::math::cdf(f, out.ratio);
    out.p = 2 * std::min(below, 1 - below);
  }
  return out;
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  const auto order = ascending(p);
  std::vector<double> adjusted(p.begin(), p.end());
  double least = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    least = std::min(least,
                     p[order[k]] * static_cast<double>(order.size()) / static_cast<double>(k + 1));
    adjusted[order[k]] = least;
  }
  return adjusted;
}

std::vector<double> holm(std::span<const double> p) {
  const auto order = ascending(p);
  std::vector<double> corrected(p.begin(), p.end());
  double largest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    largest = std::max(largest, p[order[k]] * static_cast<double>(order.size() - k));
    corrected[order[k]] = std::min(largest, 1.0);
  }
  return corrected;
}

double median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return kNaN;
  std::ranges::sort(values);
  const auto half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace kappascope
