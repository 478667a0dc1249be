// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

namespace kappascope::linalg {

/// The x >= 0 with the least |A x - b| (Lawson and Hanson 1974, chapter 23). A: [m, n], small.
Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace kappascope::linalg
