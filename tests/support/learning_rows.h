// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cmath>

namespace kappascope::test {

/// Steps, at least one, until `share` of Σ λ (1 - λ/λmax)^{2T} / Σ λ remains: by its definition.
inline double steps_of(const Eigen::VectorXd& spectrum, double share) {
  const Eigen::ArrayXd kept = 1 - spectrum.array() / spectrum.maxCoeff();
  const auto remains = [&](double steps) {
    return (spectrum.array() * kept.max(0).pow(2 * steps)).sum() / spectrum.sum();
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
