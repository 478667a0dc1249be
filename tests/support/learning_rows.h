// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cmath>

namespace kappascope::test {

/// Steps, at least one, until `share` of tr[Σ (1 - M/λmax)^{2T}] / tr Σ remains: by its definition.
inline double steps_of(const Eigen::MatrixXd& sigma, const Eigen::MatrixXd& m, double share) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> pairs(m);
  const Eigen::ArrayXd kept = 1 - pairs.eigenvalues().array() / pairs.eigenvalues().maxCoeff();
  const Eigen::ArrayXd variance =
      (pairs.eigenvectors().transpose() * sigma * pairs.eigenvectors()).diagonal();
  const auto remains = [&](double steps) {
    return (variance * kept.max(0).pow(2 * steps)).sum() / variance.sum();
  };
  double low = 1, high = 1;
  if (remains(1) <= share) return 1;
  while (remains(high) > share) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (remains(middle) > share ? low : high) = middle;
  }
  return high;
}

}  // namespace kappascope::test
