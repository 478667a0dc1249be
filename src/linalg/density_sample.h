// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "kappascope/core/statistics.h"
#include "linalg/density_in.h"
#include "linalg/sphere_forms.h"

namespace kappascope::linalg {

/// Means, and the standard error of each.
struct Estimates {
  Eigen::ArrayXd mean, error;
};

/// The quadratures of a density, `starts` of each batch: a column each in arrays. They are of what
/// the known eigenvalues leave of the operator.
class Sample {
 public:
  Sample(const std::vector<Quadrature>& quadratures,
         Eigen::Index n,
         double noise,
         int starts,
         const KnownEigenvalues& known)
      : quadratures_(quadratures),
        n_(static_cast<double>(n)),
        rest_(static_cast<double>(n - known.count())),
        starts_(starts),
        known_(known) {
    for (const Quadrature& q : quadratures) include(q.nodes);
    if (known.count() > 0) include(known.values);
    noise_ = noise * largest();
  }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] double largest() const { return std::max(std::abs(low_), std::abs(high_)); }
  [[nodiscard]] double order() const { return n_; }
  [[nodiscard]] double rest() const { return rest_; }  ///< order of what is not known
  [[nodiscard]] const KnownEigenvalues& known() const { return known_; }
  /// Error of a product.
  [[nodiscard]] double noise() const { return noise_; }
  /// How far rounding moves a node.
  [[nodiscard]] double slack() const { return 10 * noise_; }
  /// How far an eigenvalue may lie from its node at x. Beside rounding: a known pair θ with
  /// residual r and the rest are uncoupled, which moves an eigenvalue at a distance η from θ by at
  /// most 2r² / (η + sqrt(η² + 4r²)) (Li and Li 2005, LAA 395).
  [[nodiscard]] double slack(double x) const {
    double sum = slack();
    const double moved = known_.bounds.sum();
    for (Eigen::Index i = 0; i < known_.count(); ++i) {
      const double r = known_.bounds(i);
      const double eta = std::max(0.0, std::abs(known_.values(i) - x) - moved);
      if (r > 0) sum += 2 * r * r / (eta + std::hypot(eta, 2 * r));
    }
    return sum;
  }
  [[nodiscard]] Eigen::Index count() const { return std::ssize(quadratures_); }
  [[nodiscard]] Eigen::Index batches() const { return count() / starts_; }
  [[nodiscard]] const Quadrature& operator[](Eigen::Index i) const {
    return quadratures_[static_cast<std::size_t>(i)];
  }
  /// More steps would change nothing: the start lies in an invariant space.
  [[nodiscard]] bool is_exact(Eigen::Index i) const {
    return (*this)[i].residuals.maxCoeff() <= slack();
  }
  /// Share of the spectrum that is known and at or below x.
  [[nodiscard]] double known_to(double x) const {
    return static_cast<double>((known_.values.array() <= x).count()) / n_;
  }

  /// Of functions f whose means over each start's measure are `values`, and those of f² `squares`:
  /// the error of starts as form_error() has it, or that of batches where it is larger.
  [[nodiscard]] Estimates estimates(const Eigen::ArrayXXd& values,
                                    const Eigen::ArrayXXd& squares) const {
    Estimates result{values.rowwise().mean(), within(values, squares)};
    if (batches() > 1) result.error = result.error.max(between(values));
    return result;
  }
  /// The part of starts alone.
  [[nodiscard]] Eigen::ArrayXd within(const Eigen::ArrayXXd& values,
                                      const Eigen::ArrayXXd& squares) const {
    Eigen::ArrayXd variance = Eigen::ArrayXd::Zero(values.rows());
    for (Eigen::Index b = 0; b < batches(); ++b) {
      const Eigen::ArrayXd mean = values.middleCols(b * starts_, starts_).rowwise().mean();
      const Eigen::ArrayXd square = squares.middleCols(b * starts_, starts_).rowwise().mean();
      variance += (square - mean.square()).max(0).unaryExpr([this](double spread) {
        return std::pow(form_error(spread, rest_, static_cast<double>(starts_)), 2);
      });
    }
    return variance.sqrt() / static_cast<double>(batches());
  }
  /// Standard error over the means of batches.
  [[nodiscard]] Eigen::ArrayXd between(const Eigen::ArrayXXd& values) const {
    Eigen::ArrayXXd means(values.rows(), batches());
    for (Eigen::Index b = 0; b < batches(); ++b)
      means.col(b) = values.middleCols(b * starts_, starts_).rowwise().mean();
    const Eigen::ArrayXd mean = means.rowwise().mean();
    const double count = static_cast<double>(batches());
    return ((means.colwise() - mean).square().rowwise().sum() / (count - 1) / count).sqrt();
  }
  /// Student's factor for those errors.
  [[nodiscard]] double reach() const {
    const Eigen::Index freedom = batches() > 1 ? batches() - 1 : count();
    return student_quantile(0.975, static_cast<double>(freedom));
  }
  /// 95 % quantile of the largest deviation of the mean of one batch's starts (Kolmogorov).
  [[nodiscard]] double largest_deviation() const {
    return 1.3581 * std::sqrt(2 / (rest_ + 2) / static_cast<double>(count()));
  }

 private:
  void include(const Eigen::VectorXd& values) {
    low_ = std::min(low_, values.minCoeff());
    high_ = std::max(high_, values.maxCoeff());
  }

  const std::vector<Quadrature>& quadratures_;
  double n_, rest_;
  Eigen::Index starts_;
  const KnownEigenvalues& known_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_, noise_ = 0;
};

}  // namespace kappascope::linalg
