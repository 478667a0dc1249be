// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/secular.h"

#include <cmath>
#include <limits>

#include "core/require.h"

namespace kappascope::linalg {

double secular_eigenvalue(const Eigen::VectorXd& values, const Eigen::VectorXd& z, Eigen::Index k) {
  const Eigen::Index d = values.size();
  require(z.size() == d && 0 <= k && k < d,
          "eigenvalue {} of an update of width {} to {} values does not exist",
          k,
          z.size(),
          d);
  require(values.allFinite() && z.allFinite(), "a rank-one update needs finite numbers");
  for (Eigen::Index i = 1; i < d; ++i) {
    require(values(i - 1) <= values(i), "the values of a rank-one update must ascend");
  }

  const Eigen::ArrayXd weights = z.array().square();
  const double width = k + 1 < d ? values(k + 1) - values(k) : weights.sum();
  if (width == 0) return values(k);
  // A term 0/0 stands for a direction that z does not touch; it adds nothing.
  const auto negative_at = [&](const Eigen::ArrayXd& gaps, double tau) {
    double f = 1;
    for (Eigen::Index i = 0; i < d; ++i) {
      if (weights(i) != 0) f += weights(i) / (gaps(i) - tau);
    }
    return f < 0;
  };

  const bool from_right = k + 1 < d && negative_at(values.array() - values(k), 0.5 * width);
  const double origin = from_right ? values(k + 1) : values(k);
  const Eigen::ArrayXd gaps = values.array() - origin;
  // f(origin + τ) is negative at `below` and not at `above`; one of them is the origin itself.
  double below = from_right ? -0.5 * width : 0;
  double above = from_right ? 0 : (k + 1 < d ? 0.5 * width : width);
  for (;;) {
    const double middle = below + 0.5 * (above - below);
    const double resolution = std::numeric_limits<double>::epsilon() * std::abs(origin + middle);
    if (middle <= below || middle >= above || above - below <= 0.25 * resolution) break;
    (negative_at(gaps, middle) ? below : above) = middle;
  }
  return origin + (from_right ? above : below);
}

}  // namespace kappascope::linalg
