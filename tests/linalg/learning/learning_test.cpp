// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/learning.h"

#include <cmath>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/learning_rows.h"
#include "support/matrices.h"

using namespace kappascope;
using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

const Eigen::Index kD = 12;

Eigen::VectorXd some_spectrum() {
  return geometric_spectrum(kD, 300);
}

/// Rows whose eight blocks all have mean mu and covariance diag(spectrum) exactly.
RowMatrixD exact_rows(const Eigen::VectorXd& spectrum, const Eigen::VectorXd& mu) {
  const auto d = spectrum.size();
  RowMatrixD rows = RowMatrixD::Zero(16 * d, d);
  for (Eigen::Index b = 0; b < 8; ++b)
    for (Eigen::Index j = 0; j < d; ++j)
      for (const Eigen::Index sign : {0, 1})
        rows(2 * d * b + 2 * j + sign, j) =
            (sign == 0 ? 1 : -1) * std::sqrt(static_cast<double>(d) * spectrum(j));
  rows.rowwise() += mu.transpose();
  return rows;
}

Eigen::MatrixXd updated(const Eigen::VectorXd& spectrum, const Eigen::VectorXd& c) {
  Eigen::MatrixXd matrix = c * c.transpose();
  matrix.diagonal() += spectrum;
  return matrix;
}

// The population's spectrum is fitted on a grid of ratio 1.1 to 1.25, with what lies between two
// nodes shared among them, so that a number of steps is off by a few per cent.
void check_times(const LearningTime& found,
                 const Eigen::MatrixXd& sigma,
                 const Eigen::MatrixXd& m) {
  CHECK(found.half.value == Approx(steps_of(sigma, m, 0.5)).epsilon(0.03));
  CHECK(found.ninety.value == Approx(steps_of(sigma, m, 0.1)).epsilon(0.03));
  CHECK(found.ninety_nine.value == Approx(steps_of(sigma, m, 0.01)).epsilon(0.03));
}

}  // namespace

TEST_CASE("rows that show their population exactly give its learning times") {
  const auto spectrum = some_spectrum();
  const Eigen::VectorXd mu = 20 * gaussian_matrix(kD, 1, 5), bias = -0.8 * mu;
  const auto found = learning(exact_rows(spectrum, mu), bias);
  const Eigen::MatrixXd sigma = spectrum.asDiagonal();
  check_times(found.sigma, sigma, sigma);
  check_times(found.second_moment, sigma, updated(spectrum, mu));
  check_times(found.with_bias, sigma, updated(spectrum, mu + bias));
  CHECK(found.sigma.ninety.resolution == Resolution::kResolved);
  CHECK(found.mean_costs.value ==
        Approx(found.second_moment.ninety.value / found.sigma.ninety.value));
  CHECK(found.bias_leaves.value < found.mean_costs.value);
  CHECK(found.rows == 16 * kD);
  CHECK(found.groups == found.rows);
}

TEST_CASE("a bias of minus the mean brings the learning time to that of the covariance") {
  const Eigen::VectorXd mu = 3 * gaussian_matrix(kD, 1, 6);
  const auto found = learning(exact_rows(some_spectrum(), mu), -mu);
  CHECK(found.with_bias.ninety.value == Approx(found.sigma.ninety.value).epsilon(1e-6));
  CHECK(found.bias_leaves.value == Approx(1).epsilon(1e-6));
}

TEST_CASE("a bias of zeros changes nothing, and its ratio has no interval") {
  const Eigen::VectorXd mu = 20 * gaussian_matrix(kD, 1, 5);
  const auto rows = exact_rows(some_spectrum(), mu);
  const auto found = learning(rows, Eigen::VectorXd::Zero(kD));
  for (const double value :
       {found.bias_changes.value, found.bias_changes.lower, found.bias_changes.upper})
    CHECK(value == Approx(1).epsilon(1e-9));
  // Of rows that differ from half to half, a ratio lies within its interval all the same.
  RowMatrixD drawn = gaussian_matrix(512, kD, 9);
  drawn.rowwise() += mu.transpose() / 10;
  const auto open = learning(drawn, Eigen::VectorXd::Constant(kD, 0.1));
  for (const auto& ratio : {open.mean_costs, open.bias_leaves, open.bias_changes}) {
    CHECK(ratio.lower <= ratio.value);
    CHECK(ratio.value <= ratio.upper);
    CHECK(ratio.upper < 20 * ratio.lower);
  }
}

TEST_CASE("with diagonal scaling the learning times are those of the scaled matrices") {
  const auto spectrum = some_spectrum();
  const Eigen::VectorXd mu = 0.7 * gaussian_matrix(kD, 1, 7), bias = 0.3 * mu;
  const auto check_scaled = [&](const LearningTime& time, const Eigen::VectorXd& c) {
    const Eigen::MatrixXd matrix = updated(spectrum, c), sigma = spectrum.asDiagonal();
    const auto unit = matrix.diagonal().cwiseSqrt().cwiseInverse().asDiagonal();
    check_times(time, unit * sigma * unit, unit * matrix * unit);
  };
  const auto found = learning(exact_rows(spectrum, mu), bias, {.scaled = true});
  CHECK(found.sigma.ninety.value == Approx(1));
  check_scaled(found.second_moment, mu);
  check_scaled(found.with_bias, mu + bias);
}

TEST_CASE("a feature that does not vary has no part in scaled learning times") {
  RowMatrixD rows = gaussian_matrix(400, kD, 16);
  const auto found = learning(rows.leftCols(kD - 1), {}, {.scaled = true});
  rows.col(kD - 1).setZero();
  const auto with_dead = learning(rows, {}, {.scaled = true});
  CHECK(with_dead.sigma.ninety.value == Approx(found.sigma.ninety.value).epsilon(1e-9));
  CHECK(with_dead.bias_changes.value == 1);  // without a bias
}

TEST_CASE("a larger mean makes a layer slower, however large it is") {
  const Eigen::VectorXd direction = gaussian_matrix(kD, 1, 15).normalized();
  // A short one may help: it adds to what varies little.
  double before = 1;
  for (const double length : {50.0, 200.0, 1000.0}) {
    const auto found = learning(exact_rows(some_spectrum(), length * direction));
    CHECK(found.mean_costs.value > before);
    before = found.mean_costs.value;
  }
  CHECK(before > 100);
}

TEST_CASE("learning times do not depend on the scale or the basis of features") {
  const RowMatrixD rows = gaussian_matrix(400, kD, 8) * some_spectrum().cwiseSqrt().asDiagonal();
  const auto found = learning(rows).sigma.ninety;
  const auto turned = learning(rows * random_orthogonal(kD, 9)).sigma.ninety;
  CHECK(turned.value == Approx(found.value).epsilon(1e-5));
  CHECK(turned.upper == Approx(found.upper).epsilon(1e-5));
  for (const double scale : {0.01, 1e160, 1e-160})
    CHECK(learning(scale * rows).sigma.ninety.value == Approx(found.value).epsilon(1e-5));
  Eigen::VectorXd uneven = gaussian_matrix(kD, 1, 10).cwiseAbs2();
  CHECK(learning(rows * uneven.asDiagonal(), {}, {.scaled = true}).sigma.ninety.value ==
        Approx(learning(rows, {}, {.scaled = true}).sigma.ninety.value).epsilon(1e-5));
}

TEST_CASE("fewer rows than features say what they leave open") {
  const Eigen::Index d = 64;
  const auto found = learning(gaussian_matrix(32, d, 11)).sigma.ninety;
  CHECK(found.resolution == Resolution::kNotResolvable);
  CHECK(std::isinf(found.upper));
  CHECK(found.lower <= 1.0);
  CHECK(found.reason.find("more rows") != std::string::npos);
}

TEST_CASE("rows without an answer have none, and say why") {
  const auto few = learning(gaussian_matrix(48, kD, 12), {}, {.rows_per_group = 16});
  CHECK(few.sigma.ninety.resolution == Resolution::kNotResolvable);
  CHECK(few.sigma.ninety.reason.find("four sequences") != std::string::npos);
  CHECK(few.groups == 3);
  const auto constant = learning(RowMatrixD::Ones(64, kD));
  CHECK(constant.sigma.ninety.resolution == Resolution::kDegenerate);
  CHECK(std::isnan(constant.sigma.ninety.value));
  CHECK(std::isnan(constant.mean_costs.value));
  const auto none = learning(RowMatrixD(0, kD));
  CHECK(none.sigma.ninety.resolution == Resolution::kNotResolvable);
}

TEST_CASE("features that vary in few sequences have no number of steps") {
  RowMatrixD rows = gaussian_matrix(512, kD, 3);
  const auto of = [&](std::initializer_list<Eigen::Index> alive) {
    RowMatrixD some = RowMatrixD::Constant(512, kD, 0.3);
    for (const Eigen::Index b : alive) some.middleRows(64 * b, 64) = rows.middleRows(64 * b, 64);
    return learning(some, {}, {.rows_per_group = 64}).second_moment.ninety;
  };
  // In one half alone; in one block of the other.
  for (const auto& found : {of({0, 2, 4, 6}), of({0, 1, 2, 4, 6})}) {
    CHECK(found.resolution == Resolution::kNotResolvable);
    CHECK(std::isnan(found.value));
  }
  CHECK(std::isfinite(of({0, 1, 2, 3}).value));
}

TEST_CASE("rows that are not finite are left out of their sequences, and counted") {
  RowMatrixD rows = gaussian_matrix(400, kD, 13);
  const auto before = learning(rows.topRows(399));
  rows(399, 3) = std::numeric_limits<double>::quiet_NaN();
  const auto found = learning(rows);
  CHECK(found.nonfinite_rows == 1);
  CHECK(found.rows == 399);
  CHECK(found.sigma.ninety.value == before.sigma.ninety.value);
}

TEST_CASE("arguments that do not fit are errors") {
  const RowMatrixD rows = gaussian_matrix(40, kD, 14);
  CHECK_THROWS_AS(learning(rows, Eigen::VectorXd::Ones(kD - 1)), Error);
  CHECK_THROWS_AS(learning(rows, Eigen::VectorXd::Constant(kD, NAN)), Error);
  CHECK_THROWS_AS(learning(rows, {}, {.confidence = 1}), Error);
  CHECK_THROWS_AS(learning(rows, {}, {.rows_per_group = 7}), Error);
}
