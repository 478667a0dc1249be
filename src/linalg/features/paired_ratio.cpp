// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/paired_ratio.h"

#include <algorithm>
#include <cmath>

#include "kappascope/core/statistics.h"

namespace kappascope::linalg {
namespace {

constexpr Eigen::Index kFewestRows = 8;

bool has_ends(const MatrixEnds& ends) {
  return ends.top.size() > 0 && ends.bottom.size() > 0 && ends.lambda_min > 0 &&
         std::isfinite(ends.lambda_max);
}

/// What each row adds to log λmax - log λmin, but for a constant.
Eigen::ArrayXd influences(const Eigen::MatrixXd& rows, const MatrixEnds& ends) {
  const auto squares = [&](const Eigen::VectorXd& v, double lambda) -> Eigen::ArrayXd {
    return ((rows * v).array() - ends.centre.dot(v)).square() / lambda;
  };
  return squares(ends.top, ends.lambda_max) - squares(ends.bottom, ends.lambda_min);
}

}  // namespace

PairedRatio paired_ratio(const Moments& moments,
                         const MatrixEnds& above,
                         const MatrixEnds& below,
                         double confidence) {
  PairedRatio ratio;
  if (!has_ends(above) || !has_ends(below)) return ratio;
  ratio.value = (above.lambda_max / below.lambda_max) * (below.lambda_min / above.lambda_min);
  const Eigen::Index kept = moments.sample.rows();
  if (kept < kFewestRows || !(moments.n_effective > 1)) return ratio;
  const Eigen::MatrixXd rows = moments.sample.cast<double>();
  const Eigen::ArrayXd h = influences(rows, above) - influences(rows, below);
  const double variance = (h - h.mean()).square().sum() / static_cast<double>(kept - 1);
  const double freedom =
      std::max(1.0, std::min(static_cast<double>(kept), moments.n_effective) - 1);
  const double reach =
      student_quantile((1 + confidence) / 2, freedom) * std::sqrt(variance / moments.n_effective);
  ratio.lower = ratio.value * std::exp(-reach);
  ratio.upper = ratio.value * std::exp(reach);
  return ratio;
}

}  // namespace kappascope::linalg
