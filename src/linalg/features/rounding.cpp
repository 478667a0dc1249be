// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/rounding.h"

#include <algorithm>
#include <cmath>

#include "kappascope/linalg/lanczos.h"

namespace kappascope::linalg {
namespace {

double along(const Eigen::VectorXd& rounding, const Eigen::VectorXd& v) {
  return rounding.size() == 0 ? 0 : rounding.dot(v.cwiseAbs2());
}

double largest(const Eigen::VectorXd& rounding, const Eigen::VectorXd& scale) {
  return rounding.size() == 0 ? 0 : rounding.cwiseProduct(scale.cwiseAbs2()).maxCoeff();
}

double share(const Eigen::VectorXd& rounding,
             double smallest,
             const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& inverse) {
  // A share of which nothing else depends; a tenth of it more or less does not matter.
  constexpr double kSmall = 1e-3, kTolerance = 0.1;
  if (rounding.size() == 0) return 0;
  const double bound = rounding.maxCoeff() / smallest;
  if (!(bound > kSmall)) return bound;
  const Eigen::VectorXd root = rounding.cwiseSqrt();
  const SymmetricOperator op{.size = rounding.size(),
                             .apply = [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
                               y = root.cwiseProduct(inverse(root.cwiseProduct(x)));
                             }};
  LanczosOptions options;
  options.top = 1;
  options.which = SpectrumEnd::kLargest;
  options.tolerance = kTolerance;
  options.find_repeated = false;
  const LanczosResult found = lanczos(op, options);
  if (found.status != KrylovStatus::kConverged) return bound;
  return std::min(bound, found.eigenvalues(0) + found.residuals(0));
}

}  // namespace

double at_most(double variance, const Rounding& rounding) {
  return std::pow(std::sqrt(variance + rounding.sums) + std::sqrt(rounding.rows), 2);
}

double at_least(double variance, const Rounding& rounding) {
  const double root = std::sqrt(std::max(0.0, variance - rounding.sums)) - std::sqrt(rounding.rows);
  return root > 0 ? root * root : 0;
}

Rounding rounding_along(const Moments& moments, const Eigen::VectorXd& v) {
  return {along(moments.row_rounding, v), along(moments.sum_rounding, v)};
}

Rounding largest_rounding(const Moments& moments, const Eigen::VectorXd& scale) {
  return {largest(moments.row_rounding, scale), largest(moments.sum_rounding, scale)};
}

Rounding rounding_share(const Moments& moments,
                        double smallest,
                        const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& inverse) {
  return {share(moments.row_rounding, smallest, inverse),
          share(moments.sum_rounding, smallest, inverse)};
}

Eigen::Index constant_directions(const Eigen::VectorXd& variances, const Eigen::VectorXd& v) {
  const auto constant = variances.array() == 0;
  return constant.count() - ((constant && v.array() != 0).any() ? 1 : 0);
}

}  // namespace kappascope::linalg
