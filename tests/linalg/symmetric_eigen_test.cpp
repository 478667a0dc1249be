// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/symmetric_eigen.h"

#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

TEST_CASE("a matrix of chosen spectrum gives it back, ascending, with orthonormal vectors") {
  const Eigen::VectorXd spectrum = geometric_spectrum(9, 1e3);
  const Eigen::MatrixXd matrix = with_spectrum(spectrum, 1);
  const SymmetricEigen eigen = symmetric_eigen(matrix);
  CHECK((eigen.values - spectrum).norm() < 1e-12 * spectrum.norm());
  CHECK((symmetric_eigenvalues(matrix) - spectrum).norm() < 1e-12 * spectrum.norm());
  CHECK((matrix * eigen.vectors - eigen.vectors * eigen.values.asDiagonal()).norm() < 1e-11);
}

TEST_CASE("an empty matrix has no eigenvalues; one that is not square or not finite is refused") {
  CHECK(symmetric_eigen(Eigen::MatrixXd(0, 0)).values.size() == 0);
  CHECK(symmetric_eigenvalues(Eigen::MatrixXd(0, 0)).size() == 0);
  CHECK_THROWS_AS(symmetric_eigen(Eigen::MatrixXd::Zero(2, 3)), kappascope::Error);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(symmetric_eigenvalues(Eigen::MatrixXd::Constant(2, 2, nan)), kappascope::Error);
}
