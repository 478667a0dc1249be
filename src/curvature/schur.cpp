// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Eigenvalues>
#include <limits>

#include "kappascope/core/error.h"
#include "kappascope/curvature/operators.h"

namespace kappascope::curvature {

Eigen::MatrixXd to_dense(const linalg::SymmetricOperator& op) {
  Eigen::MatrixXd dense(op.size, op.size);
  Eigen::VectorXd unit = Eigen::VectorXd::Zero(op.size), column(op.size);
  for (Eigen::Index j = 0; j < op.size; ++j) {
    unit[j] = 1;
    op.apply(unit, column);
    dense.col(j) = column;
    unit[j] = 0;
  }
  return dense;
}

linalg::SymmetricOperator schur_complement(const linalg::SymmetricOperator& joint,
                                           Eigen::Index eliminated) {
  const auto kept = joint.size - eliminated;
  require(eliminated >= 1 && kept >= 1,
          "a Schur complement of order ",
          joint.size,
          " cannot eliminate ",
          eliminated,
          " coordinates");
  Eigen::MatrixXd columns(joint.size, eliminated);  // [B; C]
  Eigen::VectorXd unit = Eigen::VectorXd::Zero(joint.size), column(joint.size);
  for (Eigen::Index j = 0; j < eliminated; ++j) {
    unit[kept + j] = 1;
    joint.apply(unit, column);
    columns.col(j) = column;
    unit[kept + j] = 0;
  }
  const Eigen::MatrixXd c = columns.bottomRows(eliminated);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(0.5 * (c + c.transpose()));
  const double largest = eigen.eigenvalues().cwiseAbs().maxCoeff();
  const double floor = std::max(joint.product_noise, std::numeric_limits<double>::epsilon()) *
                       static_cast<double>(eliminated) * largest;
  Eigen::VectorXd inverse(eliminated);
  for (Eigen::Index i = 0; i < eliminated; ++i) {
    const double value = eigen.eigenvalues()[i];
    inverse[i] = std::abs(value) > floor ? 1 / value : 0;
  }
  const Eigen::MatrixXd b = columns.topRows(kept);
  const Eigen::MatrixXd c_inverse =
      eigen.eigenvectors() * inverse.asDiagonal() * eigen.eigenvectors().transpose();

  linalg::SymmetricOperator schur;
  schur.size = kept;
  schur.product_noise = joint.product_noise;
  schur.apply = [joint, b, c_inverse, kept](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
    Eigen::VectorXd whole = Eigen::VectorXd::Zero(joint.size), product(joint.size);
    whole.head(kept) = x;
    joint.apply(whole, product);
    y = product.head(kept) - b * (c_inverse * (b.transpose() * x));
  };
  return schur;
}

}  // namespace kappascope::curvature
