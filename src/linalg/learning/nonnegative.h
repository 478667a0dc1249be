// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <Eigen/QR>
#include <vector>

namespace kappascope::linalg {

/// The x >= 0 with the least |A x - b| (Lawson and Hanson 1974, chapter 23), for right sides b of
/// one small A [m, n].
class NonnegativeLeastSquares {
 public:
  explicit NonnegativeLeastSquares(const Eigen::MatrixXd& a);
  /// `begin`: an x >= 0 from which the search goes on, zero where it is empty. The nearer to the
  /// result, the less there is to do.
  [[nodiscard]] Eigen::VectorXd solve(const Eigen::VectorXd& b,
                                      const Eigen::VectorXd& begin = {}) const;

 private:
  [[nodiscard]] Eigen::VectorXd over(const std::vector<bool>& free, const Eigen::VectorXd& b) const;

  Eigen::Index equations_;
  Eigen::HouseholderQR<Eigen::MatrixXd> reduction_;  // of A, where it has more rows than columns
  Eigen::MatrixXd a_;
};

}  // namespace kappascope::linalg
