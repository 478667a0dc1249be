// SPDX-License-Identifier: Apache-2.0
#include "support/matrices.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <cmath>
#include <random>

namespace kappascope::test {

Eigen::MatrixXd gaussian_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  return Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return normal(engine); });
}

Eigen::MatrixXd random_orthogonal(Eigen::Index n, std::uint64_t seed) {
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(gaussian_matrix(n, n, seed));
  const Eigen::VectorXd signs =
      qr.matrixQR().diagonal().unaryExpr([](double r) { return r < 0 ? -1.0 : 1.0; });
  return Eigen::MatrixXd(qr.householderQ()) * signs.asDiagonal();
}

Eigen::MatrixXd with_spectrum(const Eigen::VectorXd& spectrum, std::uint64_t seed) {
  const Eigen::MatrixXd q = random_orthogonal(spectrum.size(), seed);
  const Eigen::MatrixXd product = q * spectrum.asDiagonal() * q.transpose();
  return 0.5 * (product + product.transpose());
}

Eigen::VectorXd geometric_spectrum(Eigen::Index n, double kappa) {
  if (n == 1) return Eigen::VectorXd::Ones(1);
  return Eigen::VectorXd::LinSpaced(n, 0, std::log(kappa)).array().exp();
}

Eigen::VectorXd dense_eigenvalues(const Eigen::MatrixXd& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, Eigen::EigenvaluesOnly)
      .eigenvalues();
}

}  // namespace kappascope::test
