// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/moments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/require.h"
#include "kappascope/core/statistics.h"

namespace kappascope::linalg {
namespace {

/// About the mean, by feature.
struct GroupErrors {
  Eigen::ArrayXd of_sum;      ///< Σ_g R_g² / (1 - 1/G) of moments_from()'s documentation
  Eigen::ArrayXd of_squares;  ///< Σ_g P_g² / (1 - 1/G); empty where the higher sums are not known
};

GroupErrors group_errors(const MomentSums& sums,
                         const HigherSums& about_mean,
                         const Eigen::VectorXd& variance) {
  const double n = static_cast<double>(sums.n), few = 1 - 1 / static_cast<double>(sums.groups);
  const Eigen::ArrayXd offset = sums.sum.array() / n, v = variance.array();
  GroupErrors errors;
  errors.of_sum = (sums.group_sum_squared.array() - 2 * offset * sums.group_rows_sum.array() +
                   offset.square() * sums.group_rows_squared) /
                  few;
  if (about_mean.known())
    errors.of_squares =
        (about_mean.group_squares_squared.array() - 2 * v * about_mean.group_rows_squares.array() +
         v.square() * sums.group_rows_squared)
            .max(0) /
        few;
  return errors;
}

/// Of an average over G groups and features with these second moments.
double student_factor(std::int64_t groups, const Eigen::MatrixXd& covariance) {
  const Eigen::ArrayXd inverse = covariance.diagonal().unaryExpr(
      [](double variance) { return variance > 0 ? 1 / variance : 0.0; });
  const double features = static_cast<double>((inverse > 0).count());
  const double together =
      (inverse.matrix().transpose() * covariance.cwiseAbs2() * inverse.matrix()).value();
  const double freedom = static_cast<double>(groups - 1) * features * features / together;
  return std::pow(student_quantile(0.975, freedom) / normal_quantile(0.975), 2);
}

/// D of moments_from()'s documentation.
double design_effect(const MomentSums& sums,
                     const GroupErrors& errors,
                     const FourthMoments& fourth,
                     const Eigen::MatrixXd& covariance) {
  const double n = static_cast<double>(sums.n);
  double of_mean = 0, of_variance = 0;
  Eigen::Index varying = 0, spread = 0;
  for (Eigen::Index j = 0; j < covariance.rows(); ++j) {
    const double variance = covariance(j, j);
    if (variance <= 0) continue;
    of_mean += errors.of_sum(j) / (n * variance / (1 - 1 / n));
    ++varying;
    if (!fourth.known()) continue;
    // A feature of two values of one magnitude has squares that do not vary.
    const double alone = fourth.features(j) - variance * variance;
    if (alone <= n * std::numeric_limits<double>::epsilon() * fourth.features(j)) continue;
    of_variance += errors.of_squares(j) / (n * alone / (1 - 1 / n));
    ++spread;
  }
  if (varying == 0) return 1;
  of_mean /= static_cast<double>(varying);
  if (spread > 0) of_variance /= static_cast<double>(spread);
  return std::max(1.0, std::max(of_mean, of_variance) * student_factor(sums.groups, covariance));
}

FourthMoments fourth_moments(const MomentSums& sums,
                             const HigherSums& about_mean,
                             const Eigen::VectorXd& variance) {
  if (!about_mean.known()) return {};
  const double n = static_cast<double>(sums.n);
  return {.features = about_mean.fourth / n,
          .length = about_mean.length_fourth / n,
          .length_third = about_mean.length_squared_sum / n,
          .variances = variance,
          .variance_excess = Eigen::VectorXd::Zero(variance.size())};
}

/// FourthMoments::variance_excess. Groups of L Gaussian rows have an error that is known as well as
/// a chi-squared over its G / (1 + 6/L) degrees of freedom; the largest of d features exceeds the
/// threshold in one of a thousand sets of rows.
Eigen::VectorXd variance_excess(const MomentSums& sums,
                                const GroupErrors& errors,
                                const Eigen::VectorXd& variance,
                                double n_effective) {
  const double n = static_cast<double>(sums.n), groups = static_cast<double>(sums.groups);
  const double freedom = groups / (1 + 6 * groups / n);
  const double threshold =
      chi_squared_quantile(1 - 1e-3 / static_cast<double>(variance.size()), freedom) / freedom;
  const Eigen::ArrayXd seen = errors.of_squares / (n * n);
  const Eigen::ArrayXd expected = 2 * variance.array().square() / n_effective;
  return (seen > threshold * expected).select(seen - expected, 0);
}

/// `about_shift` is E (x-s)², entry by entry.
void set_rounding(const RowPrecision& precision,
                  const Eigen::ArrayXd& about_shift,
                  Moments& moments) {
  constexpr double kFloat = 0x1p-24;
  const Eigen::ArrayXd variances = moments.covariance.diagonal().array();
  Eigen::ArrayXd rows =
      precision.unit * precision.unit * (variances + moments.mean.array().square()) +
      precision.least * precision.least;
  moments.sum_rounding = Eigen::VectorXd::Zero(variances.size());
  if (precision.float_block > 0) {
    // The difference x - s is rounded too.
    rows += kFloat * kFloat * about_shift;
    const double n = static_cast<double>(moments.n);
    const double block = static_cast<double>(std::min(moments.n, precision.float_block));
    const double entry = kFloat * block / (3 * std::sqrt(n));
    const double root = std::sqrt(static_cast<double>(variances.size()));
    moments.sum_rounding = 2 * (root + 1) * entry * about_shift;
  }
  moments.row_rounding = (variances > 0).select(rows, 0.0);
}

}  // namespace

void RowPrecision::merge(const RowPrecision& other) {
  unit = std::max(unit, other.unit);
  least = std::max(least, other.least);
  float_block = std::max(float_block, other.float_block);
}

MomentSums::MomentSums(Eigen::Index dimension)
    : shift(Eigen::VectorXd::Zero(dimension)),
      sum(Eigen::VectorXd::Zero(dimension)),
      cross(Eigen::MatrixXd::Zero(dimension, dimension)),
      group_rows_sum(Eigen::VectorXd::Zero(dimension)),
      group_sum_squared(Eigen::VectorXd::Zero(dimension)),
      higher(dimension) {}

void MomentSums::rows_are_groups() {
  groups = n;
  group_rows_squared = static_cast<double>(n);
  group_rows_sum = sum;
  group_sum_squared = cross.diagonal();
  if (!higher.known()) return;
  higher.group_rows_squares = cross.diagonal();
  higher.group_sum_squares = higher.cubed;
  higher.group_squares_squared = higher.fourth;
}

void MomentSums::move_to(const Eigen::VectorXd& new_shift) {
  require(new_shift.size() == sum.size(),
          "a shift of width {} does not fit sums of width {}",
          new_shift.size(),
          sum.size());
  const Eigen::VectorXd step = shift - new_shift;
  shift = new_shift;
  if (n == 0 || step.isZero(0)) return;
  higher = higher_sums_about(*this, step);
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
  RowPrecision joint = precision;
  joint.merge(other.precision);
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
    higher.merge(moved.higher);
  }
  nonfinite_rows = nonfinite;
  precision = joint;
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
  const Eigen::VectorXd variance = moments.covariance.diagonal();
  HigherSums about_mean = higher_sums_about(sums, -offset);
  if (!about_mean.is_finite()) about_mean = {};  // fourth powers overflow before squares do
  moments.fourth = fourth_moments(sums, about_mean, variance);
  set_rounding(sums.precision, sums.cross.diagonal().array() / n, moments);
  if (sums.groups <= 1) return moments;
  const GroupErrors errors = group_errors(sums, about_mean, variance);
  if (sums.groups < sums.n) {
    moments.n_effective /= design_effect(sums, errors, moments.fourth, moments.covariance);
  } else {
    moments.n_effective = different_rows(moments.sample, sums.n);
  }
  if (moments.fourth.known())
    moments.fourth.variance_excess = variance_excess(sums, errors, variance, moments.n_effective);
  return moments;
}

MomentAccumulator::MomentAccumulator(Eigen::Index dimension, MomentOptions options)
    : sums_((require(dimension >= 0, "features cannot number {}", dimension), dimension)),
      reservoir_(options.sample_rows, dimension, options.seed) {
  sums_.precision = options.precision;
}

MomentAccumulator::MomentAccumulator(State state)
    : sums_(std::move(state.sums)), reservoir_(std::move(state.sample)) {
  const Eigen::Index d = sums_.sum.size();
  require(sums_.shift.size() == d && sums_.cross.rows() == d && sums_.cross.cols() == d &&
              sums_.group_rows_sum.size() == d && sums_.group_sum_squared.size() == d &&
              sums_.higher.has_width(d) && reservoir_.rows().cols() == d,
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
  block.higher = higher_sums(centred);
  if (rows_per_group == 1) {
    block.rows_are_groups();
  } else {
    for (std::size_t begin = 0; begin < kept.size();) {
      const Eigen::Index group = kept[begin] / rows_per_group;
      std::size_t end = begin;
      while (end < kept.size() && kept[end] / rows_per_group == group) ++end;
      const auto members = static_cast<Eigen::Index>(end - begin);
      const auto rows_of_group = centred.middleRows(static_cast<Eigen::Index>(begin), members);
      const Eigen::VectorXd total = rows_of_group.colwise().sum().transpose();
      const Eigen::VectorXd squares = rows_of_group.colwise().squaredNorm().transpose();
      const double count = static_cast<double>(members);
      ++block.groups;
      block.group_rows_squared += count * count;
      block.group_rows_sum += count * total;
      block.group_sum_squared += total.cwiseAbs2();
      block.higher.group_rows_squares += count * squares;
      block.higher.group_sum_squares += total.cwiseProduct(squares);
      block.higher.group_squares_squared += squares.cwiseAbs2();
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
