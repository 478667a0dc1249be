// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "kappascope/core/statistics.h"
#include "kappascope/linalg/quadrature_in.h"

namespace kappascope::linalg {

/// Mean over columns and its standard error; NaN for a single column.
struct Spread {
  Eigen::ArrayXd mean, standard_error;
};
inline Spread over_columns(const Eigen::ArrayXXd& values) {
  const double columns = static_cast<double>(values.cols());
  Spread spread{values.rowwise().mean(), {}};
  const Eigen::ArrayXd squares = (values.colwise() - spread.mean).square().rowwise().sum();
  spread.standard_error = (squares / (columns - 1) / columns).sqrt();  // 0/0 for one column
  return spread;
}

/// The quadratures of a density, `starts` of each batch: a column each in arrays.
class Sample {
 public:
  Sample(const std::vector<Quadrature>& quadratures, Eigen::Index n, double noise, int starts)
      : quadratures_(quadratures), n_(static_cast<double>(n)), starts_(starts) {
    for (const Quadrature& q : quadratures) {
      low_ = std::min(low_, q.nodes.minCoeff());
      high_ = std::max(high_, q.nodes.maxCoeff());
    }
    slack_ = 10 * noise * largest();
  }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] double largest() const { return std::max(std::abs(low_), std::abs(high_)); }
  /// How far rounding moves a node.
  [[nodiscard]] double slack() const { return slack_; }
  [[nodiscard]] Eigen::Index count() const { return std::ssize(quadratures_); }
  [[nodiscard]] Eigen::Index batches() const { return count() / starts_; }
  [[nodiscard]] const Quadrature& operator[](Eigen::Index i) const {
    return quadratures_[static_cast<std::size_t>(i)];
  }

  /// Columns that are independent draws of what the mean is over: batches, or starts of one batch.
  [[nodiscard]] Eigen::ArrayXXd independent(const Eigen::ArrayXXd& values) const {
    if (batches() == 1) return values;
    Eigen::ArrayXXd means(values.rows(), batches());
    for (Eigen::Index b = 0; b < batches(); ++b)
      means.col(b) = values.middleCols(b * starts_, starts_).rowwise().mean();
    return means;
  }
  /// Student's factor for those; 1 where there is none to multiply.
  [[nodiscard]] double reach() const {
    const Eigen::Index columns = batches() > 1 ? batches() : count();
    return columns > 1 ? student_quantile(0.975, static_cast<int>(columns) - 1) : 1;
  }
  /// Standard error of the mass `share`, which depends on nothing else for starts of one batch.
  [[nodiscard]] double share_error(double share) const {
    return std::sqrt(2 * share * (1 - share) / (n_ + 2) / static_cast<double>(count()));
  }
  /// 95 % quantile of the largest deviation of the mean of one batch's starts (Kolmogorov).
  [[nodiscard]] double largest_deviation() const {
    return 1.3581 * std::sqrt(2 / (n_ + 2) / static_cast<double>(count()));
  }

 private:
  const std::vector<Quadrature>& quadratures_;
  double n_;
  Eigen::Index starts_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_, slack_ = 0;
};

}  // namespace kappascope::linalg
