// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/eigen.h"

#include <algorithm>

#include "kappascope/linalg/symmetric_eigen.h"

namespace kappascope::theory {
namespace {

Eigen::MatrixXd to_eigen(const Matrix<double>& a) {
  Eigen::MatrixXd out(a.rows(), a.cols());
  std::copy(a.begin(), a.end(), out.data());
  return out;
}

Matrix<double> from_eigen(const Eigen::MatrixXd& a) {
  Matrix<double> out(a.rows(), a.cols());
  std::copy(a.data(), a.data() + a.size(), out.begin());
  return out;
}

}  // namespace

std::vector<double> eigenvalues(const Matrix<double>& symmetric) {
  const Eigen::VectorXd values = linalg::symmetric_eigenvalues(to_eigen(symmetric));
  return {values.begin(), values.end()};
}

EigenBasis eigen_basis(const Matrix<double>& symmetric) {
  const auto found = linalg::symmetric_eigen(to_eigen(symmetric));
  return {from_eigen(found.values), from_eigen(found.vectors)};
}

}  // namespace kappascope::theory
