// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/linalg/lanczos.h"

namespace kappascope::test {

inline linalg::SymmetricOperator diagonal(const Eigen::VectorXd& values) {
  return {.size = values.size(), .apply = [values](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
            y = values.cwiseProduct(x);
          }};
}

/// A third of the mass below zero, a heavy zero, and a tail: a small Hessian.
inline Eigen::VectorXd hessian_like(Eigen::Index n) {
  Eigen::VectorXd values = Eigen::VectorXd::Zero(n);
  values.head(n / 4) = Eigen::VectorXd::LinSpaced(n / 4, -2, -0.5);
  values.tail(n / 2) = Eigen::VectorXd::LinSpaced(n / 2, 1, 6);
  return values;
}

}  // namespace kappascope::test
