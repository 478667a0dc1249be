// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/secular.h"

#include <cmath>
#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"

using kappascope::linalg::secular_eigenvalue;
using namespace kappascope::test;

namespace {

/// Every eigenvalue of diag(values) + z zᵀ against the dense solver, relative to the largest.
double worst_error(const Eigen::VectorXd& values, const Eigen::VectorXd& z) {
  Eigen::MatrixXd matrix = values.asDiagonal();
  matrix += z * z.transpose();
  const Eigen::VectorXd dense = dense_eigenvalues(matrix);
  double worst = 0;
  for (Eigen::Index k = 0; k < values.size(); ++k) {
    worst = std::max(worst, std::abs(secular_eigenvalue(values, z, k) - dense(k)));
  }
  return worst / dense.cwiseAbs().maxCoeff();
}

}  // namespace

TEST_CASE("the secular equation gives every eigenvalue of a rank-one update") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Eigen::VectorXd values = geometric_spectrum(12, 1e3);
    CHECK(worst_error(values, 10 * gaussian_matrix(12, 1, seed)) < 1e-14);
    CHECK(worst_error(values.array() - 300, gaussian_matrix(12, 1, seed)) < 1e-14);
  }
}

TEST_CASE("repeated values, untouched directions and zero updates are ordinary") {
  Eigen::VectorXd values(6);
  values << 0, 0, 1, 1, 1, 4;
  Eigen::VectorXd z = Eigen::VectorXd::Zero(6);
  CHECK(worst_error(values, z) == 0);
  z << 0, 1, 0, 2, 3, 0;
  CHECK(worst_error(values, z) < 1e-15);
  z << 0, 0, 0, 0, 2, 0;
  CHECK(worst_error(values, z) < 1e-15);
  z << 0, 0, 0, 0, 0, 1;
  CHECK(worst_error(values, z) < 1e-15);
  CHECK(worst_error(Eigen::VectorXd::Constant(1, -2), Eigen::VectorXd::Constant(1, 3)) < 1e-15);
}

TEST_CASE("a small eigenvalue keeps its digits beside one that is 1e24 times larger") {
  // diag(a, b) + z zᵀ has determinant a b + a z2² + b z1² and trace a + b + ‖z‖²: the small root is
  // determinant / large root. The dense solver gets no digit of it.
  const double a = 1e-12;
  const double b = 3e-12;
  const double x = 1e6;
  const double y = 2e6;
  const Eigen::VectorXd values = Eigen::Vector2d(a, b);
  const Eigen::VectorXd z = Eigen::Vector2d(x, y);
  const double large = x * x + y * y;
  const double expected = (a * y * y + b * x * x) / large;
  CHECK(std::abs(secular_eigenvalue(values, z, 0) / expected - 1) < 1e-14);
  CHECK(std::abs(secular_eigenvalue(values, z, 1) / large - 1) < 1e-15);
  Eigen::MatrixXd matrix = values.asDiagonal();
  matrix += z * z.transpose();
  CHECK(std::abs(dense_eigenvalues(matrix)(0) / expected - 1) > 0.1);
}

TEST_CASE("a null direction that the update touches gets exactly what the update gives it") {
  const Eigen::VectorXd values = Eigen::Vector3d(0, 1, 2);
  const Eigen::VectorXd z = Eigen::Vector3d(1e-8, 0, 0);
  CHECK(secular_eigenvalue(values, z, 0) == Approx(1e-16).epsilon(1e-14));
}

TEST_CASE("updates that do not fit are refused") {
  const Eigen::VectorXd two = Eigen::Vector2d(1, 2);
  CHECK_THROWS_AS(secular_eigenvalue(two, Eigen::VectorXd::Ones(3), 0), kappascope::Error);
  CHECK_THROWS_AS(secular_eigenvalue(two, two, 2), kappascope::Error);
  CHECK_THROWS_AS(secular_eigenvalue(two.reverse(), two, 0), kappascope::Error);
  const Eigen::VectorXd broken = Eigen::Vector2d(0, std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_AS(secular_eigenvalue(two, broken, 0), kappascope::Error);
}
