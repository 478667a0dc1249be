// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/moments.h"

#include <algorithm>
#include <utility>

#include "kappascope/core/require.h"

namespace kappascope::linalg {
namespace {

/// The design effect of moments_from's documentation.
double design_effect(const MomentSums& sums, const Eigen::VectorXd& variance) {
  const double n = static_cast<double>(sums.n);
  const double groups = static_cast<double>(sums.groups);
  const Eigen::ArrayXd offset = sums.sum.array() / n;
  const Eigen::ArrayXd residual_squared = sums.group_sum_squared.array() -
                                          2 * offset * sums.group_rows_sum.array() +
                                          offset.square() * sums.group_rows_squared;
  double total = 0;
  Eigen::Index features = 0;
  for (Eigen::Index j = 0; j < variance.size(); ++j) {
    if (variance(j) <= 0) continue;
    total += residual_squared(j) / (1 - 1 / groups) / (n * variance(j) / (1 - 1 / n));
    ++features;
  }
  return features > 0 ? total / static_cast<double>(features) : 1;
}

}  // namespace

MomentSums::MomentSums(Eigen::Index dimension)
    : shift(Eigen::VectorXd::Zero(dimension)),
      sum(Eigen::VectorXd::Zero(dimension)),
      cross(Eigen::MatrixXd::Zero(dimension, dimension)),
      group_rows_sum(Eigen::VectorXd::Zero(dimension)),
      group_sum_squared(Eigen::VectorXd::Zero(dimension)) {}

void MomentSums::rows_are_groups() {
  groups = n;
  group_rows_squared = static_cast<double>(n);
  group_rows_sum = sum;
  group_sum_squared = cross.diagonal();
}

void MomentSums::move_to(const Eigen::VectorXd& new_shift) {
  require(new_shift.size() == sum.size(),
          "a shift of width {} does not fit sums of width {}",
          new_shift.size(),
          sum.size());
  const Eigen::VectorXd step = shift - new_shift;
  shift = new_shift;
  if (n == 0 || step.isZero(0)) return;
  const double count = static_cast<double>(n);
  // (x-s) + step, squared; the middle term and the last are one symmetric update of rank two.
  const Eigen::VectorXd half = sum + 0.5 * count * step;
  cross.selfadjointView<Eigen::Lower>().rankUpdate(half, step);
  sum += count * step;
  group_sum_squared.array() +=
      2 * step.array() * group_rows_sum.array() + step.array().square() * group_rows_squared;
  group_rows_sum += group_rows_squared * step;
}

void MomentSums::merge(const MomentSums& other) {
  require(other.sum.size() == sum.size(),
          "moments of width {} cannot be merged into moments of width {}",
          other.sum.size(),
          sum.size());
  const std::int64_t nonfinite = nonfinite_rows + other.nonfinite_rows;
  if (n == 0) {
    *this = other;
  } else if (other.n > 0) {
    MomentSums moved = other;
    moved.move_to(shift);
    n += moved.n;
    sum += moved.sum;
    cross.triangularView<Eigen::Lower>() += moved.cross;
    groups += moved.groups;
    group_rows_squared += moved.group_rows_squared;
    group_rows_sum += moved.group_rows_sum;
    group_sum_squared += moved.group_sum_squared;
  }
  nonfinite_rows = nonfinite;
}

Eigen::VectorXd shift_for(const Eigen::Ref<const RowMatrixD>& rows) {
  if (rows.rows() == 0) return Eigen::VectorXd::Zero(rows.cols());
  const Eigen::RowVectorXd first = rows.row(0);
  return (first + (rows.rowwise() - first).colwise().mean()).transpose();
}

Moments moments_from(const MomentSums& sums, RowMatrixF sample) {
  const Eigen::Index d = sums.sum.size();
  Moments moments;
  moments.n = sums.n;
  moments.nonfinite_rows = sums.nonfinite_rows;
  moments.mean = Eigen::VectorXd::Zero(d);
  moments.covariance = Eigen::MatrixXd::Zero(d, d);
  moments.sample = std::move(sample);
  if (sums.n == 0) return moments;
  const double n = static_cast<double>(sums.n);
  moments.mean = sums.shift + sums.sum / n;
  moments.n_effective = sums.n == 1 || sums.groups == 1 ? 1 : n;
  if (sums.n == 1) return moments;
  const Eigen::VectorXd offset = sums.sum / n;
  moments.covariance.triangularView<Eigen::Lower>() = sums.cross / n - offset * offset.transpose();
  moments.covariance.triangularView<Eigen::StrictlyUpper>() = moments.covariance.transpose();
  if (sums.groups > 1 && sums.groups < sums.n) {
    moments.n_effective /= std::max(1.0, design_effect(sums, moments.covariance.diagonal()));
  }
  return moments;
}

MomentAccumulator::MomentAccumulator(Eigen::Index dimension, MomentOptions options)
    : sums_((require(dimension >= 0, "features cannot number {}", dimension), dimension)),
      reservoir_(options.sample_rows, dimension, options.seed) {}

MomentAccumulator::MomentAccumulator(State state)
    : sums_(std::move(state.sums)), reservoir_(std::move(state.sample)) {
  const Eigen::Index d = sums_.sum.size();
  require(sums_.shift.size() == d && sums_.cross.rows() == d && sums_.cross.cols() == d &&
              sums_.group_rows_sum.size() == d && sums_.group_sum_squared.size() == d &&
              reservoir_.rows().cols() == d,
          "the parts of a saved moment accumulator differ in width");
}

void MomentAccumulator::update(const Eigen::Ref<const RowMatrixD>& rows,
                               const std::vector<std::uint8_t>& mask,
                               Eigen::Index rows_per_group) {
  const Eigen::Index d = dimension();
  require(rows.cols() == d, "rows have width {}, moments have width {}", rows.cols(), d);
  require(mask.empty() || static_cast<Eigen::Index>(mask.size()) == rows.rows(),
          "a mask of {} entries does not fit {} rows",
          mask.size(),
          rows.rows());
  require(rows_per_group > 0 && rows.rows() % rows_per_group == 0,
          "groups of {} rows do not divide {} rows",
          rows_per_group,
          rows.rows());

  MomentSums block(d);
  std::vector<Eigen::Index> kept;
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    if (!mask.empty() && mask[static_cast<std::size_t>(i)] == 0) continue;
    if (rows.row(i).allFinite()) {
      kept.push_back(i);
    } else {
      ++block.nonfinite_rows;
    }
  }
  RowMatrixD centred = rows(kept, Eigen::all);
  block.n = centred.rows();
  for (const auto [source, slot] : reservoir_.choose(block.n)) {
    reservoir_.put(slot, centred.row(source).cast<float>());
  }
  block.shift = sums_.n > 0 ? sums_.shift : shift_for(centred);
  centred.rowwise() -= block.shift.transpose();
  block.sum = centred.colwise().sum().transpose();
  // Eigen takes a reference to the first of no numbers.
  if (centred.size() > 0)
    block.cross.selfadjointView<Eigen::Lower>().rankUpdate(centred.transpose());
  if (rows_per_group == 1) {
    block.rows_are_groups();
  } else {
    for (std::size_t begin = 0; begin < kept.size();) {
      const Eigen::Index group = kept[begin] / rows_per_group;
      std::size_t end = begin;
      while (end < kept.size() && kept[end] / rows_per_group == group) ++end;
      const auto members = static_cast<Eigen::Index>(end - begin);
      const Eigen::VectorXd total =
          centred.middleRows(static_cast<Eigen::Index>(begin), members).colwise().sum().transpose();
      const double count = static_cast<double>(members);
      ++block.groups;
      block.group_rows_squared += count * count;
      block.group_rows_sum += count * total;
      block.group_sum_squared += total.cwiseAbs2();
      begin = end;
    }
  }
  sums_.merge(block);
}

void MomentAccumulator::merge(const MomentAccumulator& other) {
  sums_.merge(other.sums_);
  reservoir_.merge(other.reservoir_);
}

Moments MomentAccumulator::result() const {
  return moments_from(sums_, reservoir_.rows());
}

}  // namespace kappascope::linalg
