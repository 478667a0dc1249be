// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

namespace kappascope::linalg {

/// Eigenvalues ascending and orthonormal eigenvectors (columns) of a symmetric matrix.
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};

/// By Eigen's dense solver, about 9 d³ operations; only the lower triangle is read. Throws when the
/// matrix is not square or not finite.
SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& matrix);

/// Eigenvalues alone, about 4/3 d³ operations.
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& matrix);

}  // namespace kappascope::linalg
