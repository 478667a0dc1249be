// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

namespace kappascope::linalg {

struct MomentSums;

/// Sums of third and fourth order beside those of MomentSums, about the same shift: how far off a
/// variance is, and what a shrinkage weight is made from, in O(d). y = x - s; a group has m_g rows
/// and the sums T_g of y and Q_g of y², entry by entry. Empty vectors: nobody summed these.
struct HigherSums {
  Eigen::VectorXd cubed;                  ///< [d] Σ y³
  Eigen::VectorXd fourth;                 ///< [d] Σ y⁴
  Eigen::VectorXd length_squared_sum;     ///< [d] Σ ‖y‖² y
  double length_fourth = 0;               ///< Σ ‖y‖⁴
  Eigen::VectorXd group_rows_squares;     ///< [d] Σ m_g Q_g
  Eigen::VectorXd group_sum_squares;      ///< [d] Σ T_g Q_g
  Eigen::VectorXd group_squares_squared;  ///< [d] Σ Q_g²

  HigherSums() = default;
  /// All zero.
  explicit HigherSums(Eigen::Index dimension);

  [[nodiscard]] bool known() const { return fourth.size() > 0; }
  [[nodiscard]] bool has_width(Eigen::Index dimension) const;
  [[nodiscard]] bool is_finite() const;
  /// Adds sums about the same shift; unknown where one of both is.
  void merge(const HigherSums& other);
};

/// Those of single rows y [n, d], but for the groups.
HigherSums higher_sums(
    const Eigen::Ref<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>&
        rows);

/// The higher sums of the same rows about s - step: y + step stands for y. Exact but for rounding;
/// a product with the sums' d² products.
HigherSums higher_sums_about(const MomentSums& sums, const Eigen::VectorXd& step);

/// Central moments of fourth order, and how far off the variances are.
struct FourthMoments {
  Eigen::VectorXd features;      ///< [d] (1/n) Σ (x-μ)⁴, entry by entry
  double length = 0;             ///< (1/n) Σ ‖x-μ‖⁴
  Eigen::VectorXd length_third;  ///< [d] (1/n) Σ ‖x-μ‖² (x-μ)
  Eigen::VectorXd variances;     ///< [d]
  /// [d] What the squared error of each variance has beyond the 2 σ⁴ / n_effective of Gaussian
  /// rows: rare spikes, heavy tails, dependence that one feature has and the others have not. From
  /// sums over groups, so that it holds for dependent rows. Zero where chance would show as much.
  Eigen::VectorXd variance_excess;

  [[nodiscard]] bool known() const { return features.size() > 0; }
};

}  // namespace kappascope::linalg
