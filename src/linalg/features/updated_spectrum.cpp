// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/updated_spectrum.h"

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "linalg/features/secular.h"

namespace kappascope::linalg {

RowRoot row_root(RowMatrixD rows, const Eigen::VectorXd& mean, Eigen::Index most) {
  const Eigen::Index n = rows.rows(), d = rows.cols();
  if (n == 0 || d == 0) return {};
  rows.rowwise() -= mean.transpose();
  const Eigen::Index kept = std::min(n, most);
  RowRoot root{.factor = Eigen::MatrixXd::Zero(d, d), .sample = RowMatrixD(kept, d)};
  for (Eigen::Index i = 0; i < kept; ++i) root.sample.row(i) = rows.row(i * n / kept);
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(rows / std::sqrt(static_cast<double>(n)));
  const Eigen::Index rank = std::min(n, d);
  root.factor.topRows(rank) = qr.matrixQR().topRows(rank).triangularView<Eigen::Upper>();
  return root;
}

SymmetricEigen root_eigen(const Eigen::MatrixXd& factor, const Eigen::VectorXd& v) {
  const Eigen::Index d = factor.cols();
  Eigen::MatrixXd stacked(factor.rows() + 1, d);
  stacked << factor, v.transpose();
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(stacked, Eigen::ComputeThinV);
  return {svd.singularValues().cwiseAbs2().reverse(), svd.matrixV().rowwise().reverse()};
}

double solver_rounding(double lambda_max, Eigen::Index d, bool by_root) {
  const double share = static_cast<double>(d) * std::numeric_limits<double>::epsilon();
  return lambda_max * (by_root ? share * share : share);
}

UpdatedSpectrum::UpdatedSpectrum(const Eigen::VectorXd& values,
                                 const Eigen::MatrixXd& vectors,
                                 const RowRoot& root,
                                 const Eigen::VectorXd& v)
    : values_(values), vectors_(vectors), z_(vectors.transpose() * v) {
  if (root.known() && v.squaredNorm() > 0) by_root_ = root_eigen(root.factor, v);
}

double UpdatedSpectrum::value(Eigen::Index k) const {
  return by_root_.values.size() > 0 ? by_root_.values(k) : secular_eigenvalue(values_, z_, k);
}

Eigen::VectorXd UpdatedSpectrum::vector(Eigen::Index k) const {
  if (by_root_.values.size() > 0) return by_root_.vectors.col(k);
  const Eigen::ArrayXd gaps = values_.array() - value(k);
  // An eigenvalue that the update leaves where it was keeps its vector.
  if ((gaps == 0).any() || z_.squaredNorm() == 0) return vectors_.col(k);
  const Eigen::VectorXd y = (z_.array() / gaps).matrix();
  const double length = y.norm();
  if (!std::isfinite(length) || length == 0) return vectors_.col(k);
  return vectors_ * (y / length);
}

}  // namespace kappascope::linalg
