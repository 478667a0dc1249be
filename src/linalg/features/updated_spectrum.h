// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include "kappascope/linalg/features/moments.h"
#include "kappascope/linalg/symmetric_eigen.h"

namespace kappascope::linalg {

/// Finite rows x [n, d] as a factor of their covariance, which itself would lose every eigenvalue
/// below λmax · ε: its square root loses those below λmax · ε² alone (Björck 1996, chapter 2).
struct RowRoot {
  Eigen::MatrixXd factor;  ///< [d, d] F with FᵀF = Σ, divisor n, by QR
  RowMatrixD sample;       ///< [k, d] rows about their mean, in double, evenly from all

  [[nodiscard]] bool known() const { return factor.size() > 0; }
};

/// `mean` is that of the rows, [d]; the first of every n/most rows is kept.
RowRoot row_root(RowMatrixD rows, const Eigen::VectorXd& mean, Eigen::Index most);

/// Eigenpairs of FᵀF + v vᵀ, ascending, by the singular values of F with v as one more row. Each
/// singular value is right to d · ε of the largest.
SymmetricEigen root_eigen(const Eigen::MatrixXd& factor, const Eigen::VectorXd& v);

/// Rounding of an eigenvalue at zero, of a matrix of width d.
double solver_rounding(double lambda_max, Eigen::Index d, bool by_root);

/// The spectrum of Σ + v vᵀ: by the secular equation from Σ's eigenpairs, or where Σ has a root by
/// its singular values.
class UpdatedSpectrum {
 public:
  /// Keeps references. `root` may be empty.
  UpdatedSpectrum(const Eigen::VectorXd& values,
                  const Eigen::MatrixXd& vectors,
                  const RowRoot& root,
                  const Eigen::VectorXd& v);

  /// Eigenvalue number k, ascending from 0.
  [[nodiscard]] double value(Eigen::Index k) const;
  /// [d] its eigenvector, of length 1.
  [[nodiscard]] Eigen::VectorXd vector(Eigen::Index k) const;
  /// [d] v in Σ's eigenbasis.
  [[nodiscard]] const Eigen::VectorXd& coordinates() const { return z_; }

 private:
  const Eigen::VectorXd& values_;
  const Eigen::MatrixXd& vectors_;
  Eigen::VectorXd z_;
  SymmetricEigen by_root_;  // empty without a root, or where v is zero
};

}  // namespace kappascope::linalg
