// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/operators.h"

#include "kappascope/tensor/convert.h"

namespace kappascope::curvature {

const char* to_string(ProductKind kind) {
  switch (kind) {
    case ProductKind::kAutomatic:
      return "automatic";
    case ProductKind::kGraphKept:
      return "graph kept";
    case ProductKind::kRecomputed:
      return "recomputed";
    case ProductKind::kFiniteDifference:
      return "finite difference";
  }
  return "unknown";
}

linalg::SymmetricOperator as_linear(const CurvatureOperator& op) {
  linalg::SymmetricOperator linear;
  linear.size = op.size();
  linear.product_noise = op.product_noise();
  linear.apply = [&op](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
    y = tensor::to_vector(op.apply(tensor::from_vector(x)));
  };
  return linear;
}

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

}  // namespace kappascope::curvature
