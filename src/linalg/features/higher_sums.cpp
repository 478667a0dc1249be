// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kappascope/linalg/features/moments.h"

namespace kappascope::linalg {
namespace {

constexpr Eigen::VectorXd HigherSums::*kVectors[] = {&HigherSums::cubed,
                                                     &HigherSums::fourth,
                                                     &HigherSums::length_squared_sum,
                                                     &HigherSums::group_rows_squares,
                                                     &HigherSums::group_sum_squares,
                                                     &HigherSums::group_squares_squared};

}  // namespace

HigherSums::HigherSums(Eigen::Index dimension) {
  for (const auto sum : kVectors) this->*sum = Eigen::VectorXd::Zero(dimension);
}

bool HigherSums::has_width(Eigen::Index dimension) const {
  return std::ranges::all_of(kVectors, [&](auto sum) { return (this->*sum).size() == dimension; });
}

bool HigherSums::is_finite() const {
  return std::isfinite(length_fourth) &&
         std::ranges::all_of(kVectors, [&](auto sum) { return (this->*sum).allFinite(); });
}

void HigherSums::merge(const HigherSums& other) {
  if (!known() || !other.known()) {
    *this = {};
    return;
  }
  for (const auto sum : kVectors) this->*sum += other.*sum;
  length_fourth += other.length_fourth;
}

HigherSums higher_sums(const Eigen::Ref<const RowMatrixD>& rows) {
  HigherSums sums(rows.cols());
  const Eigen::VectorXd lengths = rows.rowwise().squaredNorm();
  sums.cubed = rows.array().cube().colwise().sum().transpose();
  sums.fourth = rows.array().square().square().colwise().sum().transpose();
  sums.length_squared_sum = rows.transpose() * lengths;
  sums.length_fourth = lengths.squaredNorm();
  return sums;
}

HigherSums higher_sums_about(const MomentSums& sums, const Eigen::VectorXd& step) {
  const HigherSums& old = sums.higher;
  if (!old.known()) return {};
  const double n = static_cast<double>(sums.n);
  const double rows_squared = sums.group_rows_squared;
  const Eigen::ArrayXd s = step.array(), s2 = s.square(), s3 = s2 * s, s4 = s2.square();
  const Eigen::ArrayXd sum = sums.sum.array(), squares = sums.cross.diagonal().array();
  const Eigen::ArrayXd rows_sum = sums.group_rows_sum.array();
  const Eigen::ArrayXd sum_squared = sums.group_sum_squared.array();
  const Eigen::ArrayXd rows_squares = old.group_rows_squares.array();
  const Eigen::ArrayXd sum_squares = old.group_sum_squares.array();

  HigherSums moved;
  moved.cubed = old.cubed.array() + 3 * s * squares + 3 * s2 * sum + n * s3;
  moved.fourth =
      old.fourth.array() + 4 * s * old.cubed.array() + 6 * s2 * squares + 4 * s3 * sum + n * s4;
  // ‖y + s‖² = ‖y‖² + 2 sᵀy + ‖s‖².
  const double length = step.squaredNorm(), along = step.dot(sums.sum);
  const Eigen::VectorXd product = sums.cross.selfadjointView<Eigen::Lower>() * step;
  moved.length_squared_sum = old.length_squared_sum + 2 * product + length * sums.sum +
                             (squares.sum() + 2 * along + n * length) * step;
  moved.length_fourth = old.length_fourth + 4 * step.dot(old.length_squared_sum) +
                        4 * step.dot(product) + 2 * length * squares.sum() + 4 * length * along +
                        n * length * length;
  // T_g + m_g s and Q_g + 2 s T_g + m_g s² stand for T_g and Q_g.
  moved.group_rows_squares = rows_squares + 2 * s * rows_sum + s2 * rows_squared;
  moved.group_sum_squares =
      sum_squares + s * (2 * sum_squared + rows_squares) + 3 * s2 * rows_sum + s3 * rows_squared;
  moved.group_squares_squared = old.group_squares_squared.array() + 4 * s * sum_squares +
                                s2 * (4 * sum_squared + 2 * rows_squares) + 4 * s3 * rows_sum +
                                s4 * rows_squared;
  return moved;
}

}  // namespace kappascope::linalg
