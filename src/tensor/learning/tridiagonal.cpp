// SPDX-License-Identifier: Apache-2.0
#include "tensor/learning/tridiagonal.h"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace kappascope::tensor {
namespace {

/// The last pivot of T + λ, from the top; not positive where T + λ is not.
double last_pivot(const Tridiagonal& lanczos, double lambda) {
  double pivot = lanczos.diagonal(0) + lambda;
  for (Eigen::Index i = 1; i < lanczos.diagonal.size() && pivot > 0; ++i)
    pivot = lanczos.diagonal(i) + lambda - std::pow(lanczos.beside(i - 1), 2) / pivot;
  return pivot;
}

/// The first entry of (T + λ)⁻¹ e_1, where the last pivot from below is `last`.
double first_entry(const Tridiagonal& lanczos, double lambda, double last) {
  double pivot = last;
  for (Eigen::Index i = lanczos.diagonal.size() - 2; i >= 0; --i)
    pivot = lanczos.diagonal(i) + lambda - std::pow(lanczos.beside(i), 2) / pivot;
  return 1 / pivot;
}

}  // namespace

linalg::Curve curve_of(const Tridiagonal& lanczos, const Eigen::ArrayXd& lambdas, double slack) {
  linalg::Curve curve{lambdas, lambdas, lanczos.start_squared};
  const auto last = lanczos.diagonal.size() - 1;
  const double left = lanczos.beside(last) * lanczos.beside(last);
  const double pivot = last_pivot(lanczos, slack);
  for (Eigen::Index i = 0; i < lambdas.size(); ++i) {
    const double end = lanczos.diagonal(last) + lambdas(i);
    curve.low(i) = lanczos.start_squared * first_entry(lanczos, lambdas(i), end);
    // The node at -slack makes left / pivot - slack the next diagonal entry.
    const double radau = left / pivot - slack + lambdas(i);
    curve.high(i) =
        left == 0   ? curve.low(i)
        : pivot > 0 ? lanczos.start_squared * first_entry(lanczos, lambdas(i), end - left / radau)
                    : lanczos.start_squared / lambdas(i);
  }
  return curve;
}

linalg::Curve curve_of(const Tridiagonal& lanczos,
                       const Eigen::ArrayXd& lambdas,
                       const Eigen::VectorXd& products) {
  const auto steps = lanczos.diagonal.size();
  const double length = std::sqrt(lanczos.start_squared);
  linalg::Curve curve{lambdas, lambdas, length * products(0)};
  Eigen::VectorXd pivots(steps);
  for (Eigen::Index i = 0; i < lambdas.size(); ++i) {
    // From below, T + λ = U D Uᵀ; then (T + λ)⁻¹ e_1 from the top.
    for (Eigen::Index j = steps - 1; j >= 0; --j) {
      pivots(j) = lanczos.diagonal(j) + lambdas(i);
      if (j + 1 < steps) pivots(j) -= std::pow(lanczos.beside(j), 2) / pivots(j + 1);
    }
    double entry = 1 / pivots(0), sum = entry * products(0);
    for (Eigen::Index j = 1; j < steps; ++j) {
      entry *= -lanczos.beside(j - 1) / pivots(j);
      sum += entry * products(j);
    }
    curve.low(i) = curve.high(i) = length * sum;
  }
  return curve;
}

linalg::SymmetricEigen ritz_pairs(const Tridiagonal& lanczos) {
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(lanczos.diagonal, lanczos.beside.head(lanczos.beside.size() - 1));
  return {solver.eigenvalues(), solver.eigenvectors()};
}

}  // namespace kappascope::tensor
