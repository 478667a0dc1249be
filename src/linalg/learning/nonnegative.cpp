// SPDX-License-Identifier: Apache-2.0
#include "linalg/learning/nonnegative.h"

#include <limits>

#include "core/require.h"

namespace kappascope::linalg {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

std::vector<Eigen::Index> columns_of(const std::vector<bool>& free) {
  std::vector<Eigen::Index> columns;
  for (std::size_t j = 0; j < free.size(); ++j)
    if (free[j]) columns.push_back(static_cast<Eigen::Index>(j));
  return columns;
}

}  // namespace

NonnegativeLeastSquares::NonnegativeLeastSquares(const Eigen::MatrixXd& a) : equations_(a.rows()) {
  // Into an empty matrix: one that Eigen resizes is freed twice where memory runs out.
  if (a.rows() <= a.cols()) {
    a_ = a;
    return;
  }
  reduction_.compute(a);
  a_ = reduction_.matrixQR().topRows(a.cols()).triangularView<Eigen::Upper>();
}

/// The least squares over the free columns, zero elsewhere.
Eigen::VectorXd NonnegativeLeastSquares::over(const std::vector<bool>& free,
                                              const Eigen::VectorXd& b) const {
  const auto columns = columns_of(free);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(a_.cols());
  if (!columns.empty()) x(columns) = a_(Eigen::all, columns).colPivHouseholderQr().solve(b);
  return x;
}

Eigen::VectorXd NonnegativeLeastSquares::solve(const Eigen::VectorXd& right,
                                               const Eigen::VectorXd& begin) const {
  require(equations_ == right.size(), "{} equations have {} right sides", equations_, right.size());
  Eigen::VectorXd b = right;
  if (a_.rows() < equations_) {
    b.applyOnTheLeft(reduction_.householderQ().adjoint());
    b.conservativeResize(a_.rows());
  }
  Eigen::VectorXd x = Eigen::VectorXd::Zero(a_.cols());
  if (begin.size() > 0) x = begin;
  std::vector<bool> free;
  for (const double entry : x) free.push_back(entry > 0);
  const double tolerance = 10 * kEpsilon * a_.colwise().lpNorm<1>().maxCoeff() * b.norm();
  // From x along the free columns to their least squares, freeing no more of them on the way.
  const auto descend = [&](Eigen::VectorXd next) {
    while (true) {
      double step = 1;
      Eigen::Index first = -1;  // to become zero on the way
      for (const auto j : columns_of(free)) {
        if (next(j) > 0) continue;
        const double reached = x(j) > 0 ? x(j) / (x(j) - next(j)) : 0;
        if (first < 0 || reached < step) first = j, step = reached;
      }
      if (first < 0) break;
      x = (x + step * (next - x)).cwiseMax(0);
      x(first) = 0;
      for (const auto j : columns_of(free))
        if (x(j) == 0) free[static_cast<std::size_t>(j)] = false;
      next = over(free, b);
    }
    x = next;
  };
  if (begin.size() > 0) descend(over(free, b));
  // Each round lowers the residual, so that no set of columns comes twice; rounding may spoil that.
  for (Eigen::Index round = 0; round < 3 * a_.cols(); ++round) {
    Eigen::VectorXd slope = a_.transpose() * (b - a_ * x);
    for (const auto j : columns_of(free)) slope(j) = 0;
    Eigen::Index steepest = 0;
    if (slope.maxCoeff(&steepest) <= tolerance) break;
    free[static_cast<std::size_t>(steepest)] = true;
    const auto next = over(free, b);
    // What rounding alone made steep would come back for ever.
    if (next(steepest) <= 0) break;
    descend(next);
  }
  return x;
}

}  // namespace kappascope::linalg
