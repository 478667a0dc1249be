// SPDX-License-Identifier: Apache-2.0
#include "linalg/learning/nonnegative.h"

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope;
using namespace kappascope::linalg;
using namespace kappascope::test;

// x >= 0 minimises |Ax - b|² if and only if the gradient Aᵀ(Ax - b) is nowhere negative, and zero
// where x is positive (Karush, Kuhn and Tucker).
TEST_CASE("the least squares that are not negative meet the conditions of a minimum") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Eigen::Index m = 5 + static_cast<Eigen::Index>(seed % 30), n = 3 + m / 2;
    const Eigen::MatrixXd a = gaussian_matrix(m, n, seed);
    const Eigen::VectorXd b = gaussian_matrix(m, 1, 1000 + seed);
    const auto x = NonnegativeLeastSquares(a).solve(b);
    const Eigen::VectorXd gradient = a.transpose() * (a * x - b);
    const double tolerance = 1e-10 * a.norm() * b.norm();
    CHECK(x.minCoeff() >= 0);
    CHECK(gradient.minCoeff() >= -tolerance);
    CHECK(gradient.cwiseProduct(x).cwiseAbs().maxCoeff() <= tolerance);
  }
}

TEST_CASE("the search ends at the same least squares wherever it begins") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Eigen::MatrixXd a = gaussian_matrix(40, 12, seed);
    const Eigen::VectorXd b = gaussian_matrix(40, 1, 1000 + seed);
    const NonnegativeLeastSquares fit(a);
    const auto x = fit.solve(b);
    const Eigen::VectorXd far = gaussian_matrix(12, 1, 2000 + seed).cwiseMax(0);
    for (const Eigen::VectorXd& begin : {x, far, Eigen::VectorXd(Eigen::VectorXd::Zero(12))})
      CHECK((fit.solve(b, begin) - x).norm() <= 1e-10 * b.norm());
  }
}

TEST_CASE("columns that are nearly the same end, at a minimum") {
  Eigen::MatrixXd a(60, 40);
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    for (Eigen::Index j = 0; j < a.cols(); ++j) {
      const double kappa = std::pow(10, -0.1 * static_cast<double>(i));
      a(i, j) = kappa / (kappa + std::pow(10, -0.15 * static_cast<double>(j)));
    }
  const Eigen::VectorXd b = a.col(7) + 2 * a.col(30);
  const auto x = NonnegativeLeastSquares(a).solve(b);
  CHECK(x.minCoeff() >= 0);
  CHECK((a * x - b).norm() <= 1e-9 * b.norm());
}

TEST_CASE("a right side that no positive combination nears gives zero") {
  const Eigen::MatrixXd a = gaussian_matrix(6, 4, 1).cwiseAbs();
  CHECK(NonnegativeLeastSquares(a).solve(-Eigen::VectorXd::Ones(6)).isZero());
  CHECK_THROWS_AS(NonnegativeLeastSquares(a).solve(Eigen::VectorXd::Ones(5)), Error);
}
