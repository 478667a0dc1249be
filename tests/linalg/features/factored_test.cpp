// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/factored.h"

#include <Eigen/LU>
#include <cmath>
#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

Eigen::MatrixXd updated(const Eigen::MatrixXd& sigma,
                        const Eigen::VectorXd& v,
                        const Eigen::VectorXd& scale) {
  return scale.asDiagonal() * (sigma + v * v.transpose()) * scale.asDiagonal();
}

/// An end is right when the dense one is within its bound and the rounding of both, which is d ε of
/// the largest eigenvalue; and its bound is as narrow as the tolerance says.
void check_ends(const SpectrumEnds& ends, const Eigen::MatrixXd& dense) {
  const Eigen::VectorXd values = dense_eigenvalues(dense);
  const Eigen::Index d = values.size();
  const double rounding = values(d - 1) * static_cast<double>(d) * kEpsilon;
  CAPTURE(values(0), values(d - 1), ends.smallest.value, ends.smallest.bound, rounding);
  CHECK(ends.largest.status == KrylovStatus::kConverged);
  CHECK(std::abs(ends.largest.value - values(d - 1)) <= ends.largest.bound + rounding);
  CHECK(ends.largest.bound <= 1e-5 * values(d - 1));
  REQUIRE(ends.null_dimension < d);
  REQUIRE(ends.null_complete);
  CHECK(ends.smallest.status == KrylovStatus::kConverged);
  CHECK(std::abs(ends.smallest.value - values(ends.null_dimension)) <=
        ends.smallest.bound + rounding);
  CHECK(ends.smallest.bound <= std::max(1e-4 * ends.smallest.value, rounding));
  const Eigen::VectorXd& x = ends.smallest.vector;
  CHECK((dense * x - ends.smallest.value * x).norm() <= ends.smallest.bound + rounding);
}

Eigen::VectorXd ones(Eigen::Index d) {
  return Eigen::VectorXd::Ones(d);
}

}  // namespace

TEST_CASE("one factor gives the ends of every update and scaling, as the dense solver has them") {
  for (const double kappa : {1.0, 1e2, 1e6, 1e10}) {
    for (const Eigen::Index d : {1, 2, 7, 60, 300}) {
      CAPTURE(kappa, d);
      const Eigen::MatrixXd sigma = with_spectrum(geometric_spectrum(d, kappa), 1);
      const FactoredCovariance factored{Eigen::MatrixXd(sigma)};
      REQUIRE(factored.factored());
      const Eigen::VectorXd mu = 10 * gaussian_matrix(d, 1, 2);
      const Eigen::VectorXd zero = Eigen::VectorXd::Zero(d);
      const SpectrumEnds plain = factored.ends(zero, ones(d));
      check_ends(plain, sigma);
      CHECK(plain.null_dimension == 0);
      const SpectrumEnds second = factored.ends(mu, ones(d), plain);
      check_ends(second, updated(sigma, mu, ones(d)));
      const Eigen::VectorXd scale = (sigma.diagonal() + mu.cwiseAbs2()).cwiseSqrt().cwiseInverse();
      check_ends(factored.ends(mu, scale), updated(sigma, mu, scale));
    }
  }
}

TEST_CASE("products, solves, norms and whitening are those of the matrix") {
  const Eigen::Index d = 150;
  const Eigen::MatrixXd sigma = with_spectrum(geometric_spectrum(d, 1e4), 3);
  const FactoredCovariance factored{Eigen::MatrixXd(sigma)};
  const Eigen::VectorXd x = gaussian_matrix(d, 1, 4);
  CHECK((factored.multiply(x) - sigma * x).norm() <= 1e-13 * sigma.norm() * x.norm());
  CHECK((sigma * factored.solve(x) - x).norm() <= 1e-9 * x.norm());
  const Eigen::VectorXd s = gaussian_matrix(d, 1, 14).cwiseAbs();
  CHECK(factored.squared_norm(x, s) == Approx(updated(sigma, x, s).squaredNorm()).epsilon(1e-13));
  CHECK(factored.variances() == sigma.diagonal());
  Eigen::MatrixXd rows = gaussian_matrix(5, d, 5);
  const Eigen::MatrixXd before = rows;
  factored.whiten(rows);
  const Eigen::MatrixXd lengths = before * sigma.inverse() * before.transpose();
  CHECK((rows * rows.transpose() - lengths).norm() <= 1e-8 * lengths.norm());
}

TEST_CASE("a feature of variance zero stays out, and a constant one lifts the second moment") {
  const Eigen::Index d = 40;
  Eigen::MatrixXd sigma = Eigen::MatrixXd::Zero(d, d);
  sigma.topLeftCorner(d - 2, d - 2) = with_spectrum(geometric_spectrum(d - 2, 50), 6);
  Eigen::VectorXd mu = gaussian_matrix(d, 1, 7);
  const FactoredCovariance factored{Eigen::MatrixXd(sigma)};
  const SpectrumEnds plain = factored.ends(Eigen::VectorXd::Zero(d), ones(d));
  CHECK(plain.null_dimension == 2);
  check_ends(plain, sigma);
  const SpectrumEnds lifted = factored.ends(mu, ones(d));
  CHECK(lifted.null_dimension == 1);
  check_ends(lifted, updated(sigma, mu, ones(d)));
  mu.tail(2).setZero();
  const SpectrumEnds not_lifted = factored.ends(mu, ones(d));
  CHECK(not_lifted.null_dimension == 2);
  check_ends(not_lifted, updated(sigma, mu, ones(d)));
}

TEST_CASE("linear dependences are found one by one, and an update may lift one of them") {
  const Eigen::Index d = 80;
  for (const Eigen::Index null : {1, 3}) {
    CAPTURE(null);
    Eigen::VectorXd spectrum = geometric_spectrum(d, 1e3);
    spectrum.head(null).setZero();
    const Eigen::MatrixXd sigma = with_spectrum(spectrum, 8);
    const FactoredCovariance factored{Eigen::MatrixXd(sigma)};
    REQUIRE(factored.factored());
    CHECK(factored.null_directions().cols() == null);
    const SpectrumEnds plain = factored.ends(Eigen::VectorXd::Zero(d), ones(d));
    CHECK(plain.null_dimension == null);
    check_ends(plain, sigma);
    CHECK(plain.null_threshold == Approx(plain.largest.value * 80 * kEpsilon));
    const Eigen::VectorXd mu = gaussian_matrix(d, 1, 9);
    const SpectrumEnds lifted = factored.ends(mu, ones(d), plain, plain.null_threshold);
    CHECK(lifted.null_dimension == null - 1);
    check_ends(lifted, updated(sigma, mu, ones(d)));
    const Eigen::VectorXd within = sigma * mu;
    CHECK(factored.ends(within, ones(d)).null_dimension == null);
    const Eigen::VectorXd scale = sigma.diagonal().cwiseSqrt().cwiseInverse();
    const SpectrumEnds scaled = factored.ends(mu, scale);
    CHECK(scaled.null_dimension == null - 1);
    check_ends(scaled, updated(sigma, mu, scale));
  }
}

TEST_CASE("more null directions than are looked for: that is said, and no smallest is invented") {
  Eigen::VectorXd spectrum = geometric_spectrum(50, 10);
  spectrum.head(20).setZero();
  FactorOptions options;
  options.max_null = 4;
  const FactoredCovariance factored(with_spectrum(spectrum, 10), options);
  const SpectrumEnds ends = factored.ends(Eigen::VectorXd::Zero(50), ones(50));
  CHECK_FALSE(ends.null_complete);
  CHECK(ends.null_dimension == 4);
  CHECK(std::isnan(ends.smallest.value));
  CHECK(std::isinf(ends.smallest.bound));
  CHECK(ends.largest.value == Approx(10).epsilon(1e-9));
}

TEST_CASE("a feature with a variance of 1e-24 does not disturb the others' correlations") {
  const Eigen::Index d = 30;
  const Eigen::MatrixXd sigma = with_spectrum(geometric_spectrum(d, 20), 11);
  Eigen::VectorXd small = ones(d);
  small(4) = 1e-12;
  const Eigen::MatrixXd shrunk = small.asDiagonal() * sigma * small.asDiagonal();
  const FactoredCovariance factored{Eigen::MatrixXd(shrunk)};
  const Eigen::VectorXd scale = shrunk.diagonal().cwiseSqrt().cwiseInverse();
  const SpectrumEnds scaled = factored.ends(Eigen::VectorXd::Zero(d), scale);
  const Eigen::VectorXd unit = sigma.diagonal().cwiseSqrt().cwiseInverse();
  check_ends(scaled, updated(sigma, Eigen::VectorXd::Zero(d), unit));
  CHECK(scaled.null_dimension == 0);
  CHECK(factored.ends(Eigen::VectorXd::Zero(d), ones(d)).null_dimension == 1);
}

TEST_CASE("a matrix that is not positive semidefinite has no factor, and keeps its upper end") {
  Eigen::VectorXd spectrum = geometric_spectrum(20, 100);
  spectrum(0) = -1;
  const FactoredCovariance factored(with_spectrum(spectrum, 12));
  CHECK_FALSE(factored.factored());
  const SpectrumEnds ends = factored.ends(Eigen::VectorXd::Zero(20), ones(20));
  CHECK(ends.largest.value == Approx(100).epsilon(1e-9));
  CHECK(ends.smallest.status == KrylovStatus::kInconsistent);
  CHECK(std::isnan(ends.smallest.value));
  CHECK_THROWS_AS(factored.solve(ones(20)), kappascope::Error);
  const FactoredCovariance zero{Eigen::MatrixXd(Eigen::MatrixXd::Zero(3, 3))};
  CHECK(zero.ends(Eigen::VectorXd::Zero(3), ones(3)).null_dimension == 3);
  CHECK(zero.ends(ones(3), ones(3)).largest.value == Approx(3));
}

TEST_CASE("the caller's Cholesky is used, and what does not fit is refused") {
  int calls = 0;
  FactorOptions options;
  options.cholesky = [&](Eigen::Ref<Eigen::MatrixXd> matrix) {
    ++calls;
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      matrix(j, j) = std::sqrt(matrix(j, j) - matrix.row(j).head(j).squaredNorm());
      for (Eigen::Index i = j + 1; i < matrix.rows(); ++i)
        matrix(i, j) =
            (matrix(i, j) - matrix.row(i).head(j).dot(matrix.row(j).head(j))) / matrix(j, j);
    }
    return true;
  };
  const Eigen::MatrixXd sigma = with_spectrum(geometric_spectrum(12, 30), 13);
  const FactoredCovariance factored(sigma, options);
  CHECK(calls == 1);
  check_ends(factored.ends(Eigen::VectorXd::Zero(12), ones(12)), sigma);
  CHECK_THROWS_AS(factored.ends(ones(11), ones(12)), kappascope::Error);
  CHECK_THROWS_AS(factored.ends(ones(12), Eigen::VectorXd::Zero(12)), kappascope::Error);
  CHECK_THROWS_AS(FactoredCovariance(Eigen::MatrixXd::Zero(2, 3)), kappascope::Error);
  CHECK_THROWS_AS(FactoredCovariance(Eigen::MatrixXd::Constant(2, 2, NAN)), kappascope::Error);
  Eigen::MatrixXd infinite = Eigen::MatrixXd::Identity(2, 2);
  infinite(1, 0) = infinite(0, 1) = INFINITY;
  CHECK_THROWS_AS(FactoredCovariance(infinite), kappascope::Error);
  CHECK_THROWS_AS(FactoredCovariance(-Eigen::MatrixXd::Identity(2, 2)), kappascope::Error);
}
