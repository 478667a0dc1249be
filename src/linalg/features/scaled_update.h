// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include "linalg/features/factored.h"

namespace kappascope::linalg {

/// x less its part in the columns of `basis`, which are orthonormal.
void project_out(const Eigen::MatrixXd& basis, Eigen::VectorXd& x);
/// Adds the direction of x to an orthonormal basis.
void append_direction(Eigen::MatrixXd& basis, Eigen::VectorXd x);

/// A = S (Σ + v vᵀ) S as a product, and its inverse on its range.
///
/// With N the null space of SΣS, w = S v = w_r + β u, w_r in the range of SΣS and u a unit vector
/// in N, the range of A is that of SΣS, and u where β is not zero. With X = (SΣS)⁺, z = X w_r and
/// m = w_rᵀ z the inverse there is
///   β = 0:  X - z zᵀ / (1 + m)                                        (Sherman and Morrison 1950)
///   β > 0:  X - (z uᵀ + u zᵀ)/β + u uᵀ (1 + m)/β²                     (the Schur complement is
///   X⁻¹).
class ScaledUpdate {
 public:
  ScaledUpdate(const FactoredCovariance& base,
               const Eigen::VectorXd& v,
               const Eigen::VectorXd& scale);

  [[nodiscard]] Eigen::VectorXd multiply(const Eigen::VectorXd& x) const;
  [[nodiscard]] Eigen::VectorXd inverse(const Eigen::VectorXd& x) const;
  /// (SΣS)⁺ x.
  [[nodiscard]] Eigen::VectorXd inverse_of_base(Eigen::VectorXd x) const;
  /// Known null directions of A: features of variance zero, and those of Σ, but for u.
  [[nodiscard]] Eigen::Index null_dimension() const;

 private:
  void to_range(Eigen::VectorXd& x) const;

  const FactoredCovariance& base_;
  Eigen::VectorXd scale_, w_;
  Eigen::VectorXd from_correlation_;            // (S D)⁻¹, zero where the variance is
  Eigen::MatrixXd null_;                        // of SΣS, without the features of variance zero
  Eigen::VectorXd in_range_, lifted_, solved_;  // w_r, u, z
  double beta_ = 0, m_ = 0;
};

}  // namespace kappascope::linalg
