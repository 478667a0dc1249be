// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/scaled_update.h"

#include <limits>

namespace kappascope::linalg {

void project_out(const Eigen::MatrixXd& basis, Eigen::VectorXd& x) {
  if (basis.cols() == 0) return;
  for (int pass = 0; pass < 2; ++pass) x -= basis * (basis.transpose() * x);
}

void append_direction(Eigen::MatrixXd& basis, Eigen::VectorXd x) {
  project_out(basis, x);
  basis.conservativeResize(x.size(), basis.cols() + 1);
  basis.rightCols<1>() = x.normalized();
}

ScaledUpdate::ScaledUpdate(const FactoredCovariance& base,
                           const Eigen::VectorXd& v,
                           const Eigen::VectorXd& scale)
    : base_(base), scale_(scale), w_(scale.cwiseProduct(v)), null_(v.size(), 0) {
  const Eigen::Index d = base.dimension();
  from_correlation_ =
      (base.inverse_.array() > 0).select(base.inverse_.array() / scale.array(), 0.0);
  for (Eigen::Index i = 0; i < base.null_.cols(); ++i)
    append_direction(null_, from_correlation_.cwiseProduct(base.null_.col(i)));
  in_range_ = w_;
  to_range(in_range_);
  lifted_ = w_ - in_range_;
  beta_ = lifted_.norm();
  if (beta_ <= static_cast<double>(d) * std::numeric_limits<double>::epsilon() * w_.norm()) {
    beta_ = 0;
  } else {
    lifted_ /= beta_;
  }
  if (!base.factored()) return;
  solved_ = inverse_of_base(in_range_);
  m_ = in_range_.dot(solved_);
}

void ScaledUpdate::to_range(Eigen::VectorXd& x) const {
  x = (base_.inverse_.array() > 0).select(x, 0.0);
  project_out(null_, x);
}

Eigen::VectorXd ScaledUpdate::multiply(const Eigen::VectorXd& x) const {
  return scale_.cwiseProduct(base_.multiply(scale_.cwiseProduct(x))) + w_ * w_.dot(x);
}

Eigen::VectorXd ScaledUpdate::inverse_of_base(Eigen::VectorXd x) const {
  to_range(x);
  x = x.cwiseProduct(from_correlation_);
  const auto lower = base_.matrix_.triangularView<Eigen::UnitLower>();
  lower.solveInPlace(x);
  x = x.cwiseQuotient(base_.pivots_);
  lower.transpose().solveInPlace(x);
  x = x.cwiseProduct(from_correlation_);
  to_range(x);
  return x;
}

Eigen::VectorXd ScaledUpdate::inverse(const Eigen::VectorXd& x) const {
  Eigen::VectorXd y = inverse_of_base(x);
  if (beta_ == 0) return y - solved_ * (in_range_.dot(y) / (1 + m_));
  const double along = lifted_.dot(x) / beta_;
  const double pulled = in_range_.dot(y) / beta_;
  y += -solved_ * along + lifted_ * ((1 + m_) / beta_ * along - pulled);
  return y;
}

Eigen::Index ScaledUpdate::null_dimension() const {
  return (base_.inverse_.array() == 0).count() + null_.cols() - (beta_ > 0 ? 1 : 0);
}

}  // namespace kappascope::linalg
