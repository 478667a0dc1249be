// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/shrinkage.h"

#include <algorithm>
#include <limits>

namespace kappascope::linalg {

double shrinkage_weight(const SecondMomentFacts& facts) {
  const double spread =
      facts.frobenius_squared - facts.trace * facts.trace / static_cast<double>(facts.dimension);
  const double error = (facts.fourth - facts.frobenius_squared) / facts.n_effective;
  if (!(spread > 0)) return 1;
  return std::clamp(error / spread, 0.0, 1.0);
}

double shrunk_kappa(const SecondMomentFacts& facts, double lambda_min, double lambda_max) {
  if (!(facts.trace > 0)) return std::numeric_limits<double>::quiet_NaN();
  const double weight = shrinkage_weight(facts);
  const double target = weight * facts.trace / static_cast<double>(facts.dimension);
  return ((1 - weight) * lambda_max + target) / ((1 - weight) * std::max(0.0, lambda_min) + target);
}

double fourth_moment_about(const FourthMoments& moments,
                           const Eigen::VectorXd& v,
                           double quadratic) {
  const double length = v.squaredNorm();
  return moments.length + 4 * v.dot(moments.length_third) + 4 * quadratic +
         2 * length * moments.variances.sum() + length * length;
}

double sample_fourth_moment(const RowMatrixF& sample,
                            const Eigen::VectorXd& centre,
                            const Eigen::VectorXd& scale) {
  double sum = 0;
  for (Eigen::Index i = 0; i < sample.rows(); ++i) {
    const Eigen::VectorXd row = sample.row(i).transpose().cast<double>() - centre;
    const double norm_squared = row.cwiseProduct(scale).squaredNorm();
    sum += norm_squared * norm_squared;
  }
  return sample.rows() > 0 ? sum / static_cast<double>(sample.rows()) : 0;
}

double gaussian_fourth_moment(double trace, double frobenius_squared, double mean_squared_norm) {
  return trace * trace + 2 * frobenius_squared - 2 * mean_squared_norm * mean_squared_norm;
}

}  // namespace kappascope::linalg
