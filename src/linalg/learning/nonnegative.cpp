// SPDX-License-Identifier: Apache-2.0
#include "linalg/learning/nonnegative.h"

#include <Eigen/QR>
#include <limits>
#include <vector>

#include "kappascope/core/require.h"

namespace kappascope::linalg {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// The least squares over some columns, zero elsewhere.
Eigen::VectorXd over(const Eigen::MatrixXd& a,
                     const Eigen::VectorXd& b,
                     const std::vector<Eigen::Index>& columns) {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(a.cols());
  x(columns) = a(Eigen::all, columns).colPivHouseholderQr().solve(b);
  return x;
}

}  // namespace

Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  require(a.rows() == b.size(), "{} equations have {} right sides", a.rows(), b.size());
  Eigen::VectorXd x = Eigen::VectorXd::Zero(a.cols());
  std::vector<bool> free(static_cast<std::size_t>(a.cols()), false);
  const double tolerance = 10 * kEpsilon * a.colwise().lpNorm<1>().maxCoeff() * b.norm();
  const auto free_columns = [&] {
    std::vector<Eigen::Index> columns;
    for (Eigen::Index j = 0; j < a.cols(); ++j)
      if (free[static_cast<std::size_t>(j)]) columns.push_back(j);
    return columns;
  };
  // Each round lowers the residual, so that no set of columns comes twice; rounding may spoil that.
  for (Eigen::Index round = 0; round < 3 * a.cols(); ++round) {
    Eigen::VectorXd slope = a.transpose() * (b - a * x);
    for (const auto j : free_columns()) slope(j) = 0;
    Eigen::Index steepest = 0;
    if (slope.maxCoeff(&steepest) <= tolerance) break;
    free[static_cast<std::size_t>(steepest)] = true;
    Eigen::VectorXd next = over(a, b, free_columns());
    // What rounding alone made steep would come back for ever.
    if (next(steepest) <= 0) break;
    while (true) {
      double step = 1;
      Eigen::Index first = -1;  // to become zero on the way
      for (const auto j : free_columns()) {
        if (next(j) > 0) continue;
        const double reached = x(j) > 0 ? x(j) / (x(j) - next(j)) : 0;
        if (first < 0 || reached < step) first = j, step = reached;
      }
      if (first < 0) break;
      x = (x + step * (next - x)).cwiseMax(0);
      x(first) = 0;
      for (const auto j : free_columns())
        if (x(j) == 0) free[static_cast<std::size_t>(j)] = false;
      next = over(a, b, free_columns());
    }
    x = next;
  }
  return x;
}

}  // namespace kappascope::linalg
