// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/moments.h"

#include <cmath>
#include <limits>
#include <utility>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using kappascope::test::gaussian_matrix;

namespace {

RowMatrixD rows_of(Eigen::Index n, Eigen::Index d, std::uint64_t seed, double offset = 0) {
  return gaussian_matrix(n, d, seed).array() + offset;
}

/// Two passes in long double: the reference.
Eigen::MatrixXd reference_covariance(const RowMatrixD& rows) {
  using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  Wide wide = rows.cast<long double>();
  wide.rowwise() -= wide.colwise().mean().eval();
  return (wide.transpose() * wide / static_cast<long double>(rows.rows())).cast<double>();
}

Moments moments_of(const RowMatrixD& rows, Eigen::Index rows_per_group = 1) {
  MomentAccumulator accumulator(rows.cols());
  accumulator.update(rows, {}, rows_per_group);
  return accumulator.result();
}

/// (1/n) Σ ‖x-μ‖² (x-μ) and, entry by entry, (1/n) Σ (x-μ)⁴: two passes in long double.
std::pair<Eigen::VectorXd, Eigen::VectorXd> reference_third_and_fourth(const RowMatrixD& rows) {
  using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  Wide wide = rows.cast<long double>();
  wide.rowwise() -= wide.colwise().mean().eval();
  const auto n = static_cast<long double>(rows.rows());
  const Wide third = wide.transpose() * wide.rowwise().squaredNorm() / n;
  const Wide fourth = wide.array().square().square().colwise().sum().transpose() / n;
  return {third.cast<double>(), fourth.cast<double>()};
}

void check_same(const Moments& a, const Moments& b, double tolerance) {
  CHECK((a.fourth.features - b.fourth.features).norm() <= tolerance * a.fourth.features.norm());
  CHECK((a.fourth.length_third - b.fourth.length_third).norm() <=
        tolerance * std::pow(a.fourth.length, 0.75));
  CHECK(std::abs(a.fourth.length - b.fourth.length) <= tolerance * a.fourth.length);
  CHECK((a.fourth.variance_excess - b.fourth.variance_excess).norm() <=
        tolerance * a.fourth.variances.squaredNorm());
  CHECK(a.n == b.n);
  CHECK(a.nonfinite_rows == b.nonfinite_rows);
  CHECK(std::abs(a.n_effective - b.n_effective) <= tolerance * a.n_effective);
  CHECK((a.mean - b.mean).norm() <= tolerance * a.mean.norm());
  CHECK((a.covariance - b.covariance).norm() <= tolerance * a.covariance.norm());
}

}  // namespace

TEST_CASE("mean and covariance agree with two passes, also beside a large mean") {
  for (double offset : {0.0, 1e6}) {
    const RowMatrixD rows = rows_of(200, 7, 1, offset);
    MomentAccumulator accumulator(7);
    for (Eigen::Index i = 0; i < 200; i += 25) accumulator.update(rows.middleRows(i, 25));
    const Moments moments = accumulator.result();
    const Eigen::MatrixXd reference = reference_covariance(rows);
    CHECK((moments.covariance - reference).norm() < 1e-13 * reference.norm());
    CHECK((moments.mean.transpose() - rows.colwise().mean()).norm() < 1e-15 * (1 + 3 * offset));
    CHECK(moments.covariance == moments.covariance.transpose());
    const auto [third, fourth] = reference_third_and_fourth(rows);
    CHECK((moments.fourth.features - fourth).norm() < 1e-12 * fourth.norm());
    CHECK((moments.fourth.length_third - third).norm() < 1e-12 * third.norm());
    // The formula that must not be used has lost every digit here: E[x²] - E[x]² about zero.
    if (offset > 0) {
      const Eigen::MatrixXd raw = rows.transpose() * rows / 200.0;
      const Eigen::MatrixXd naive = raw - moments.mean * moments.mean.transpose();
      CHECK((naive - reference).norm() > 1e-6 * reference.norm());
    }
  }
}

TEST_CASE("covariance plus the mean's outer product is the sample second moment") {
  const RowMatrixD rows = rows_of(64, 5, 2, 3.0);
  const Moments moments = moments_of(rows);
  const Eigen::MatrixXd second = rows.transpose() * rows / 64.0;
  const Eigen::MatrixXd sum = moments.covariance + moments.mean * moments.mean.transpose();
  CHECK((sum - second).norm() < 1e-14 * second.norm());
}

TEST_CASE("the parts of a stream merge to the whole, whatever their shifts and sizes") {
  const RowMatrixD rows = rows_of(96, 6, 3, 10.0);
  MomentAccumulator whole(6);
  whole.update(rows, {}, 4);
  MomentAccumulator left(6);
  MomentAccumulator right(6);
  MomentAccumulator empty(6);
  left.update(rows.topRows(8), {}, 4);
  right.update(rows.bottomRows(88), {}, 4);
  left.merge(right);
  left.merge(empty);
  check_same(whole.result(), left.result(), 1e-13);
  empty.merge(left);
  check_same(left.result(), empty.result(), 0);
  CHECK(left.result().sample.rows() == 96);
}

TEST_CASE("groups whose rows are alike merge to the whole, whatever their shifts") {
  // What a group's rows share makes the errors of its sums the larger ones, and a mean that moves
  // between the parts, and between the blocks of one, makes their shifts differ from all means.
  RowMatrixD rows = rows_of(256, 5, 31, 3.0);
  const RowMatrixD shared = rows_of(64, 5, 32, 1.0);
  for (Eigen::Index i = 0; i < 256; ++i) rows.row(i) += 2 * shared.row(i / 4);
  rows.bottomRows(128).array() += 7;
  rows.bottomRows(64).array() += 4;
  MomentAccumulator whole(5);
  MomentAccumulator left(5);
  MomentAccumulator right(5);
  whole.update(rows, {}, 4);
  left.update(rows.topRows(128), {}, 4);
  right.update(rows.middleRows(128, 64), {}, 4);
  right.update(rows.bottomRows(64), {}, 4);
  left.merge(right);
  CHECK(whole.result().n_effective < 128);
  check_same(whole.result(), left.result(), 1e-12);
}

TEST_CASE("groups that are more alike than chance makes them count for no more than their rows") {
  // Sums of groups are zero and sums of their squares are equal: the errors between groups vanish.
  RowMatrixD rows(256, 2);
  for (Eigen::Index i = 0; i < 256; i += 4) {
    const double angle = static_cast<double>(i) * 0.1;
    rows.row(i) << std::cos(angle), std::sin(angle);
    rows.row(i + 1) << std::sin(angle), -std::cos(angle);
    rows.row(i + 2) = -rows.row(i);
    rows.row(i + 3) = -rows.row(i + 1);
  }
  CHECK(moments_of(rows, 4).n_effective == 256);
}

TEST_CASE("masked rows do not count, and rows with NaN or infinity are counted and left out") {
  RowMatrixD rows = rows_of(12, 3, 4);
  const Moments clean = moments_of(rows.topRows(9));
  rows(9, 1) = std::numeric_limits<double>::quiet_NaN();
  rows(10, 2) = std::numeric_limits<double>::infinity();
  rows.row(11).setConstant(std::numeric_limits<double>::quiet_NaN());
  std::vector<std::uint8_t> mask(12, 1);
  mask[11] = 0;
  MomentAccumulator accumulator(3);
  accumulator.update(rows, mask);
  Moments moments = accumulator.result();
  CHECK(moments.nonfinite_rows == 2);
  moments.nonfinite_rows = 0;
  check_same(clean, moments, 0);
  CHECK(moments.sample.allFinite());
}

TEST_CASE("a constant feature has a variance of exactly zero") {
  RowMatrixD rows = rows_of(50, 3, 5);
  rows.col(1).setConstant(0.1);
  MomentAccumulator accumulator(3);
  MomentAccumulator other(3);
  accumulator.update(rows.topRows(17));
  accumulator.update(rows.middleRows(17, 3));
  other.update(rows.bottomRows(30));
  accumulator.merge(other);
  const Moments moments = accumulator.result();
  CHECK(moments.covariance.row(1).isZero(0));
  CHECK(moments.mean(1) == 0.1);
}

TEST_CASE("no rows, one row and no features are ordinary") {
  const Moments none = moments_of(RowMatrixD(0, 3));
  CHECK(none.n == 0);
  CHECK(none.n_effective == 0);
  CHECK(none.mean.isZero(0));
  CHECK(none.covariance.isZero(0));
  const RowMatrixD row = rows_of(1, 3, 6);
  const Moments one = moments_of(row);
  CHECK(one.n_effective == 1);
  CHECK(one.mean == row.row(0).transpose());
  CHECK(one.covariance.isZero(0));
  CHECK(moments_of(RowMatrixD(4, 0)).n == 4);
}

TEST_CASE("independent rows that are called a group keep nearly all of their number") {
  // D is an average of 40 ratios, each chi-squared with 63 degrees of freedom over 63: its standard
  // error is sqrt(2/63/40) = 0.028, so that 1.14 is five of them (false alarm 3e-7).
  const Moments moments = moments_of(rows_of(512, 40, 7), 8);
  CHECK(moments.n_effective <= 512);
  CHECK(moments.n_effective > 512 / 1.14);
  CHECK(moments_of(rows_of(512, 40, 7), 1).n_effective == 512);
}

TEST_CASE("rows that repeat within their group count once a group") {
  const RowMatrixD distinct = rows_of(64, 5, 8);
  RowMatrixD rows(256, 5);
  for (Eigen::Index i = 0; i < 256; ++i) rows.row(i) = distinct.row(i / 4);
  // Not 64 to the last digit: variances correct for their own degrees of freedom, and the design
  // effect for those that 64 groups leave.
  CHECK(moments_of(rows, 4).n_effective == Approx(64).epsilon(0.03));
  CHECK(moments_of(rows, 256).n_effective == 1);
}

TEST_CASE("alternating signs within a group lower the effective number") {
  // x_t = -0.9 x_{t-1} + noise: a group's mean is better known than that of as many rows alone, its
  // variance worse by 1 + 2 Σ (1 - k/64) 0.81^k. 128 groups of 5 columns give that to a standard
  // error of sqrt(2 / (127 · 5)) = 5.6 %; 25 % is four and a half.
  RowMatrixD rows = rows_of(Eigen::Index{128} * 64, 5, 21);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    if (i % 64 > 0) rows.row(i) = -0.9 * rows.row(i - 1) + std::sqrt(0.19) * rows.row(i);
  }
  double design = 1;
  for (int k = 1; k < 64; ++k) design += 2 * (1 - k / 64.0) * std::pow(0.81, k);
  const Moments moments = moments_of(rows, 64);
  CHECK(moments.n_effective == Approx(8192 / design).epsilon(0.25));
  CHECK(moments.fourth.variance_excess.isZero(0));
}

TEST_CASE("the effective number of rows does not depend on the scale of the features") {
  RowMatrixD rows = rows_of(640, 4, 26);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) rows.row(i) += rows.row(i / 64 * 64);
  const double effective = moments_of(rows, 64).n_effective;
  CHECK(effective < 320);
  CHECK(moments_of(1e-3 * rows, 64).n_effective == Approx(effective));
}

TEST_CASE("single rows that are copies count once") {
  const RowMatrixD distinct = rows_of(100, 4, 22);
  CHECK(moments_of(distinct.replicate(4, 1)).n_effective == Approx(100));
  CHECK(moments_of(distinct).n_effective == 100);
}

TEST_CASE("rows without groups are groups of one") {
  const RowMatrixD rows = rows_of(40, 3, 25, 0.5);
  MomentAccumulator accumulator(3);
  accumulator.update(rows);
  const MomentSums sums = accumulator.state().sums;
  Eigen::VectorXd squared = Eigen::VectorXd::Zero(3);
  for (const auto& row : rows.rowwise()) squared += (row.transpose() - sums.shift).cwiseAbs2();
  CHECK(sums.groups == 40);
  CHECK(sums.group_sum_squared.isApprox(squared, 1e-13));
}

TEST_CASE("a spike that no kept row shows is in the error of its variance") {
  RowMatrixD rows = rows_of(5000, 3, 23);
  rows.col(1).setZero();
  rows(1234, 1) = rows(4321, 1) = 50;
  MomentAccumulator accumulator(3, {.sample_rows = 0});
  accumulator.update(rows);
  const FourthMoments fourth = accumulator.result().fourth;
  CHECK(fourth.variance_excess(0) == 0);
  CHECK(fourth.variance_excess(2) == 0);
  // Two events of a Poisson number: a relative error of 1/sqrt(2).
  CHECK(fourth.variance_excess(1) == Approx(std::pow(fourth.variances(1), 2) / 2).epsilon(0.01));
}

TEST_CASE("fourth powers that overflow leave the rest") {
  const Moments moments = moments_of(rows_of(50, 3, 24) * 1e100);
  CHECK(moments.covariance.allFinite());
  CHECK_FALSE(moments.fourth.known());
}

TEST_CASE("an accumulator made from a state continues to the last bit") {
  const RowMatrixD rows = rows_of(60, 4, 9, 2.0);
  MomentAccumulator accumulator(4, {.sample_rows = 7, .seed = 5});
  accumulator.update(rows.topRows(30), {}, 3);
  MomentAccumulator again(accumulator.state());
  for (MomentAccumulator* each : {&accumulator, &again}) each->update(rows.bottomRows(30), {}, 3);
  const Moments a = accumulator.result();
  const Moments b = again.result();
  check_same(a, b, 0);
  CHECK(a.sample == b.sample);
  auto broken = accumulator.state();
  broken.sums.shift.resize(3);
  CHECK_THROWS_AS(MomentAccumulator(broken), kappascope::Error);
}

TEST_CASE("widths, masks and groups that do not fit are refused with their numbers") {
  MomentAccumulator accumulator(3);
  CHECK_THROWS_WITH(accumulator.update(RowMatrixD::Zero(2, 4)),
                    "rows have width 4, moments have width 3");
  CHECK_THROWS_WITH(accumulator.update(RowMatrixD::Zero(5, 3), {}, 2),
                    "groups of 2 rows do not divide 5 rows");
  CHECK_THROWS_AS(accumulator.update(RowMatrixD::Zero(2, 3), {1}), kappascope::Error);
  CHECK_THROWS_AS(accumulator.merge(MomentAccumulator(4)), kappascope::Error);
  CHECK_THROWS_AS(MomentAccumulator(-1), kappascope::Error);
}
