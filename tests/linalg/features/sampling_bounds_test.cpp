// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/sampling_bounds.h"

#include <Eigen/Cholesky>
#include <cmath>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"
#include "support/planted.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

TEST_CASE("the Tracy-Widom quantile agrees with the table") {
  // Tracy and Widom's F1: Bejan (2005), table 1.
  CHECK(tracy_widom_quantile(0.95) == Approx(0.9793).margin(0.01));
  CHECK(tracy_widom_quantile(0.99) == Approx(2.0234).margin(0.01));
  CHECK(tracy_widom_quantile(0.5) == Approx(-1.2686).margin(0.01));
  CHECK_THROWS_AS(tracy_widom_quantile(1), kappascope::Error);
}

TEST_CASE("equal weights give the edges of Marchenko and Pastur") {
  RowTails equal;
  equal.weights = Eigen::VectorXd::Ones(3);
  equal.masses = Eigen::VectorXd::Constant(3, 1.0 / 3);
  const SamplingBounds with = sampling_bounds(equal, 501, 50, 50, 0.01);
  const SamplingBounds without = sampling_bounds({}, 501, 50, 50, 0.01);
  CHECK(with.top == Approx(without.top).epsilon(1e-8));
  CHECK(with.bottom == Approx(without.bottom).epsilon(1e-8));
  equal.weights *= 2;  // so are the rows' lengths
  CHECK(sampling_bounds(equal, 501, 50, 50, 0.01).top == Approx(2 * with.top).epsilon(1e-8));
  equal.weights << 0.5, 1, 1.5;
  CHECK(sampling_bounds(equal, 501, 50, 50, 0.01).top > with.top);
  CHECK(sampling_bounds(equal, 501, 50, 50, 0.01).bottom < with.bottom);
}

TEST_CASE("the edges of Gaussian rows lie where Ma centres and scales them") {
  // n rows about their mean are a Wishart matrix of m = n - 1 degrees of freedom: for few of them
  // the centring is more than the difference that a Monte Carlo test sees.
  const double n = 7, d = 3, m = n - 1, failure = 0.01;
  const double rows = std::sqrt(m - 0.5), columns = std::sqrt(d - 0.5);
  const double extreme = tracy_widom_quantile(1 - failure);
  const double top_scale = (rows + columns) * std::cbrt(1 / rows + 1 / columns);
  const double top = (std::pow(rows + columns, 2) + top_scale * extreme) / m;
  const double edge = std::pow(rows - columns, 2);
  const double log_scale = (rows - columns) * std::cbrt(1 / columns - 1 / rows) / edge;
  const double bottom = edge / m * std::exp(log_scale * log_scale / 8 - log_scale * extreme);
  const auto bounds = sampling_bounds({}, n, d, d, failure);
  CHECK(bounds.top == Approx(top).epsilon(1e-12));
  CHECK(bounds.bottom == Approx(bottom).epsilon(1e-12));
  CHECK(sampling_bounds({}, n, d, 1, failure).top < top);
  CHECK(sampling_bounds({}, d + 1, d, d, failure).bottom == 0);
}

TEST_CASE("each Gaussian bound fails as often as it says") {
  // 2000 draws of 5 % failures: between 2.9 % and 7.3 % with probability 1 - 1e-5; the laws are
  // asymptotic, so that a bound may also be safer than it says at small d.
  for (auto [n, d] : {std::pair{24, 8}, std::pair{160, 16}, std::pair{40, 3}}) {
    const SamplingBounds bounds = sampling_bounds({}, n, d, d, 0.05);
    int top = 0;
    int bottom = 0;
    int low = 0;
    const int draws = 2000;
    for (int draw = 0; draw < draws; ++draw) {
      const Eigen::MatrixXd w = whitened_moments(Rows::kGaussian, n, d, 5000 + draw).covariance *
                                (static_cast<double>(n) / (n - 1));
      const Eigen::VectorXd values = dense_eigenvalues(w);
      if (values(d - 1) > bounds.top) ++top;
      if (values(0) < bounds.bottom) ++bottom;
      if (w(0, 0) < bounds.along_low) ++low;
    }
    INFO("n = " << n << ", d = " << d << ": top " << top << ", bottom " << bottom << ", along "
                << low);
    CHECK(top <= 0.073 * draws);
    CHECK(bottom <= 0.073 * draws);
    CHECK(low <= 0.073 * draws);
    CHECK(top + bottom + low >= 0.05 * draws);
  }
}

TEST_CASE("tails are read off the rows: Gaussian rows give none, Student rows give theirs") {
  const auto tails_of = [](Rows rows, Eigen::Index d) {
    const Moments moments = whitened_moments(rows, 20 * d, d, 3);
    const RowMatrixD centred = moments.sample.cast<double>().rowwise() - moments.mean.transpose();
    const Eigen::LLT<Eigen::MatrixXd> root(moments.covariance);
    const RowMatrixF whitened = root.matrixL().solve(centred.transpose()).transpose().cast<float>();
    return row_tails(whitened, static_cast<double>(moments.n), 0.95);
  };
  const RowTails gaussian = tails_of(Rows::kGaussian, 100);
  CHECK(gaussian.weights.maxCoeff() < 1.5);
  CHECK(gaussian.kurtosis == Approx(3).epsilon(0.2));
  CHECK(gaussian.masses.sum() == Approx(1));
  // The largest of 2000 weights 3/χ²(5) lies above 10 in 99.9 % of all draws.
  const RowTails student = tails_of(Rows::kEllipticalT, 100);
  CHECK(student.weights.maxCoeff() > 10);
  CHECK(student.masses.sum() == Approx(1));
  CHECK(row_tails(RowMatrixF::Ones(7, 3), 100, 0.95).weights.size() == 0);
  CHECK(row_tails(RowMatrixF::Ones(8, 3), 100, 0.95).weights.size() > 0);
}

TEST_CASE("a row's weight is by the covariance of the others, of which it is no part") {
  // Half of the rows nine times as heavy as the other half. With d/n = 1/4 a heavy row's share of
  // the covariance, which it is a part of, is five times a light one's. The mean of 200 weights is
  // within 2 %, and taking out the spread of Gaussian rows moves the ratio by 10 %.
  RowMatrixD rows = gaussian_matrix(400, 100, 6);
  rows.topRows(200) *= 3;
  const Moments moments = moments_of(rows);
  const Eigen::LLT<Eigen::MatrixXd> root(moments.covariance);
  const RowMatrixD centred = rows.rowwise() - moments.mean.transpose();
  const RowMatrixF whitened = root.matrixL().solve(centred.transpose()).transpose().cast<float>();
  const auto weights = row_tails(whitened, 400, 0.95).weights;
  REQUIRE(weights.size() == 400);
  CHECK(weights.tail(200).sum() / weights.head(200).sum() == Approx(9).epsilon(0.12));
}

TEST_CASE(
    "rows that nobody kept are as heavy as their fourth moment, less what the kept ones show") {
  // Rows of ten lengths: their fourth moment is 1 + 3 times as large as Gaussian rows' of one
  // length.
  RowMatrixD rows = gaussian_matrix(20'000, 50, 4);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) rows.row(i) *= i % 10 == 0 ? 3 : 1;
  const Moments moments = moments_of(rows);
  const auto unseen = [&](const Eigen::VectorXd& weights) {
    RowTails tails;
    tails.weights = weights;
    tails.masses = Eigen::VectorXd::Constant(weights.size(), 1.0 / weights.size());
    add_sums_of_all_rows(moments, moments.covariance.squaredNorm(), {}, {}, tails);
    return tails.unseen;
  };
  // E s⁴ / (E s²)² of the lengths s.
  const double all = (0.9 + 0.1 * 81) / std::pow(0.9 + 0.1 * 9, 2);
  CHECK(unseen(Eigen::VectorXd::Ones(10)) == Approx(all).epsilon(0.05));
  const Eigen::VectorXd half = Eigen::Vector2d(1, 3);  // (1 + 9)/2 over 2²
  CHECK(unseen(half) == Approx(all / 1.25).epsilon(0.05));
  CHECK(unseen(Eigen::Vector4d(1, 0, 0, 0)) == 1);  // they show more than all have
}

TEST_CASE("a concentrated spectrum has a sharper top, and few rows have no bottom") {
  CHECK(sampling_bounds({}, 400, 100, 2, 0.01).top <
        0.7 * sampling_bounds({}, 400, 100, 100, 0.01).top);
  CHECK(sampling_bounds({}, 50, 50, 50, 0.01).bottom == 0);
  CHECK(feature_variance_factor({}, 400, 100, 0.01) > feature_variance_factor({}, 400, 1, 0.01));
  CHECK(feature_variance_factor({}, 1e12, 10, 0.01) == Approx(1).margin(1e-4));
}

TEST_CASE("a Pareto tail of kept rows is extended to the largest of all rows") {
  // 4,000 kept of a million rows, with lengths at the quantiles of a Pareto law of exponent 2: the
  // largest weight of all rows is that law's quantile at a chance of log(1/0.95) in a million. Half
  // a step of the discretised law, and the standard error on the safe side, are the tolerance.
  constexpr Eigen::Index kKept = 4000, kWidth = 100;
  constexpr double kRows = 1e6, kExponent = 2, kConfidence = 0.95;
  RowMatrixF rows(kKept, kWidth);
  for (Eigen::Index i = 0; i < kKept; ++i) {
    const double survival = (static_cast<double>(i) + 0.5) / static_cast<double>(kKept);
    rows.row(i).setConstant(static_cast<float>(std::pow(survival, -0.5 / kExponent)));
  }
  const RowTails tails = row_tails(rows, kRows, kConfidence);
  const double beyond = -std::log(kConfidence) / kRows;
  const double mean = kExponent / (kExponent - 1);
  const double expected = std::log(std::pow(beyond, -1 / kExponent) / mean);
  const double excess = std::log(0.1 / beyond) / kExponent;  // over the threshold of the tail
  CHECK(std::log(tails.weights.maxCoeff()) > expected - 0.03 * excess);
  CHECK(std::log(tails.weights.maxCoeff()) < expected + 0.08 * excess);
}

TEST_CASE("a heavy feature has as many degrees of freedom at any scale") {
  const auto freedom_at = [](double scale) {
    RowMatrixD rows = gaussian_matrix(400, 4, 9);
    rows.col(2).array() = rows.col(2).array().cube();
    const Moments moments = moments_of(scale * rows);
    RowTails tails;
    add_sums_of_all_rows(moments, moments.covariance.squaredNorm(), {}, {}, tails);
    for (const auto& [feature, variance, freedom] : tails.heavy)
      if (feature == 2) return freedom;
    return 0.0;
  };
  const double freedom = freedom_at(1);
  CHECK(freedom > 1);
  CHECK(freedom < 200);  // a cube of a normal variable has a kurtosis of 46
  for (const double scale : {16.0, 1.0 / 16}) CHECK(freedom_at(scale) == Approx(freedom));
}
