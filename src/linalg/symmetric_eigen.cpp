// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/symmetric_eigen.h"

#include <Eigen/Eigenvalues>

#include "core/require.h"

namespace kappascope::linalg {
namespace {

void check(const Eigen::MatrixXd& matrix) {
  require(matrix.rows() == matrix.cols(),
          "a symmetric matrix must be square, got {} x {}",
          matrix.rows(),
          matrix.cols());
  require(matrix.allFinite(), "a matrix with NaN or infinity has no eigenvalues");
}

}  // namespace

SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& matrix) {
  check(matrix);
  if (matrix.size() == 0) return {};
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& matrix) {
  check(matrix);
  if (matrix.size() == 0) return {};
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix, Eigen::EigenvaluesOnly)
      .eigenvalues();
}

}  // namespace kappascope::linalg
