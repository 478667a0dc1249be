// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/names.h"
#include "core/require.h"
#include "curvature/tensor_basis.h"
#include "kappascope/core/statistics.h"
#include "kappascope/curvature/solve.h"
#include "kappascope/linalg/random.h"
#include "linalg/quadrature_in.h"

namespace kappascope::curvature {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kConverged =
    0.1;  // residual of the least Ritz value, as a share of its distance from 0

/// vᵀ log(A) v by a quadrature's own nodes, which is never too small, as all even derivatives of
/// the logarithm are negative.
double by_gauss(const linalg::Quadrature& quadrature, double damping) {
  return quadrature.weights.dot((quadrature.nodes.array() + damping).log().matrix());
}

/// The same with one more node at `floor`, a lower bound on the eigenvalues, which is never too
/// large (Golub and Meurant 1994).
double by_radau(const linalg::Quadrature& quadrature, double floor, double damping) {
  const Eigen::Index m = quadrature.nodes.size();
  const Eigen::ArrayXd gaps = quadrature.nodes.array() - floor;
  if (!(floor + damping > 0) || !(gaps > 0).all()) return -kUnbounded;
  const double next = floor + (quadrature.residuals.array().square() / gaps).sum();
  Eigen::MatrixXd t = Eigen::MatrixXd::Zero(m + 1, m + 1);
  t.diagonal() << quadrature.diagonal, next;
  t.diagonal<1>() = quadrature.off_diagonal;
  t.diagonal<-1>() = quadrature.off_diagonal;
  const auto ritz = linalg::symmetric_eigen(t);
  // The first node is `floor` but for rounding.
  const Eigen::ArrayXd nodes = ritz.values.array().max(floor) + damping;
  return ritz.vectors.row(0).cwiseAbs2().dot(nodes.log().matrix().transpose());
}

LogDeterminant exact(const CurvatureOperator& op, double damping) {
  const Eigen::MatrixXd matrix = to_dense(as_linear(op));
  LogDeterminant found{.status = LogDeterminantStatus::kExact,
                       .products = static_cast<int>(op.size())};
  if (!matrix.allFinite()) {
    found.status = LogDeterminantStatus::kNonFinite;
    return found;
  }
  const Eigen::VectorXd values = linalg::symmetric_eigenvalues(matrix);
  const Eigen::ArrayXd shifted = values.array() + damping;
  const double error = op.product_noise() * values.cwiseAbs().maxCoeff();
  found.smallest = shifted(0);
  if (shifted(0) <= 0) {
    found.status = LogDeterminantStatus::kNotPositive;
    return found;
  }
  found.value = shifted.log().sum();
  found.lower = shifted(0) > error ? (shifted - error).log().sum() : -kUnbounded;
  found.upper = (shifted + error).log().sum();
  return found;
}

}  // namespace

const char* to_string(LogDeterminantStatus status) {
  return name_in<LogDeterminantStatus::kNonFinite>(
      std::array{"estimated", "exact", "not_positive_definite", "non_finite"}, status);
}

LogDeterminant log_determinant(const CurvatureOperator& op, const LogDeterminantOptions& options) {
  require(op.shared_with() == nullptr,
          "a determinant of parameters that are sharded over processes is not computed");
  require(std::isfinite(options.damping), "the damping must be finite");
  require(options.starts >= 2 && options.steps >= 2,
          "a determinant needs two starts and two steps at least, got {} and {}",
          options.starts,
          options.steps);
  const torch::NoGradGuard no_grad;
  const auto n = static_cast<double>(op.size());
  if (n <= static_cast<double>(options.starts) * options.steps) return exact(op, options.damping);
  LogDeterminant found{.smallest = kUnbounded};
  TensorBasis basis(op);
  linalg::Random seeds(options.seed);
  std::vector<linalg::Quadrature> quadratures;
  double floor = kUnbounded;
  for (int s = 0; s < options.starts; ++s) {
    quadratures.push_back(
        linalg::quadrature_in(basis, op.product_noise(), options.steps, true, seeds.next()));
    const auto& last = quadratures.back();
    found.products += last.products;
    if (!last.finite) {
      found.status = LogDeterminantStatus::kNonFinite;
      return found;
    }
    found.smallest = std::min(found.smallest, last.nodes(0) + options.damping);
    const bool converged =
        last.residuals(0) <= kConverged * std::abs(last.nodes(0) + options.damping);
    floor = std::min(floor, converged ? last.nodes(0) - last.residuals(0) : -kUnbounded);
  }
  if (found.smallest <= 0) {
    found.status = LogDeterminantStatus::kNotPositive;
    return found;
  }
  if (options.positive_semidefinite) floor = 0;
  Eigen::ArrayXd low(options.starts), high(options.starts);
  for (int s = 0; s < options.starts; ++s) {
    const auto& quadrature = quadratures[static_cast<std::size_t>(s)];
    low(s) = n * by_radau(quadrature, floor, options.damping);
    high(s) = n * by_gauss(quadrature, options.damping);
  }
  const double t = student_quantile(0.975, options.starts - 1);
  const auto reach = [&](const Eigen::ArrayXd& x) {
    const double variance = (x - x.mean()).square().sum() / static_cast<double>(x.size() - 1);
    return t * std::sqrt(variance / static_cast<double>(x.size()));
  };
  found.upper = high.mean() + reach(high);
  found.lower = low.isFinite().all() ? low.mean() - reach(low) : -kUnbounded;
  found.value = std::isfinite(found.lower) ? (low.mean() + high.mean()) / 2 : high.mean();
  return found;
}

}  // namespace kappascope::curvature
