// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/kappa.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <string>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"
#include "support/planted.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

Conditioning of_rows(const RowMatrixD& rows) {
  return kappa(moments_of(rows), {});
}

bool says(const KappaEstimate& estimate, const std::string& words) {
  return estimate.reason.find(words) != std::string::npos;
}

double dense_kappa(const Eigen::MatrixXd& matrix) {
  const Eigen::VectorXd values = dense_eigenvalues(matrix);
  return values(values.size() - 1) / values(0);
}

Eigen::MatrixXd unit_diagonal(const Eigen::MatrixXd& matrix) {
  const Eigen::VectorXd scale = matrix.diagonal().cwiseSqrt().cwiseInverse();
  return scale.asDiagonal() * matrix * scale.asDiagonal();
}

}  // namespace

TEST_CASE("one feature has a κ of 1 exactly, and two have an interval") {
  const auto one = of_rows(gaussian_matrix(400, 1, 1)).sigma;
  CHECK(one.value == 1);
  CHECK(one.upper == 1);
  const auto two = of_rows(gaussian_matrix(400, 2, 1) * Eigen::Vector2d(1, 3).asDiagonal()).sigma;
  CHECK(two.resolution == Resolution::kResolved);
  CHECK(two.lower < 9);
  CHECK(two.upper > 9);
  CHECK(two.upper < 2 * two.value);
}

TEST_CASE("all six values are those of the dense matrices") {
  const RowMatrixD rows =
      (gaussian_matrix(400, 6, 1) * with_spectrum(geometric_spectrum(6, 30), 2)).array() + 2;
  const Moments moments = moments_of(rows);
  const Eigen::VectorXd bias = -0.7 * moments.mean + gaussian_matrix(6, 1, 3);
  const Conditioning c = kappa(moments, bias);
  const Eigen::MatrixXd sigma = moments.covariance;
  const Eigen::MatrixXd second = sigma + moments.mean * moments.mean.transpose();
  const Eigen::VectorXd mb = moments.mean + bias;
  const Eigen::MatrixXd with_bias = sigma + mb * mb.transpose();
  CHECK(c.sigma.value == Approx(dense_kappa(sigma)).epsilon(1e-10));
  CHECK(c.second_moment.value == Approx(dense_kappa(second)).epsilon(1e-10));
  CHECK(c.with_bias.value == Approx(dense_kappa(with_bias)).epsilon(1e-10));
  CHECK(c.sigma_scaled.value == Approx(dense_kappa(unit_diagonal(sigma))).epsilon(1e-10));
  CHECK(c.second_moment_scaled.value == Approx(dense_kappa(unit_diagonal(second))).epsilon(1e-10));
  CHECK(c.with_bias_scaled.value == Approx(dense_kappa(unit_diagonal(with_bias))).epsilon(1e-10));
  const double m = moments.mean.dot(sigma.ldlt().solve(moments.mean));
  CHECK(c.mean_leverage == Approx(m / (1 + m)).epsilon(1e-10));
  CHECK(c.second_moment.lambda_max == Approx(dense_eigenvalues(second)(5)).epsilon(1e-12));
  CHECK_FALSE(c.assumed_gaussian);
}

TEST_CASE("scaling what is of one scale already says the same and knows it no better") {
  RowMatrixD rows = gaussian_matrix(2000, 8, 4);
  rows.col(1) = 0.5 * rows.col(0) + rows.col(1);
  rows.rowwise() -= rows.colwise().mean().eval();
  const Eigen::VectorXd lengths = rows.colwise().norm();
  rows = std::sqrt(2000) * rows * lengths.cwiseInverse().asDiagonal();
  const auto found = of_rows(rows);
  CHECK(found.sigma_scaled.value == Approx(found.sigma.value).epsilon(1e-9));
  CHECK(found.sigma_scaled.lower < found.sigma.lower);
  CHECK(found.sigma_scaled.upper > found.sigma.upper);
}

TEST_CASE("a bias of minus the mean brings the block back to sigma, and none leaves it") {
  const RowMatrixD rows = gaussian_matrix(300, 5, 4).array() + 3;
  const Moments moments = moments_of(rows);
  const Conditioning centred = kappa(moments, -moments.mean);
  CHECK(centred.with_bias.value == Approx(centred.sigma.value).epsilon(1e-12));
  CHECK(centred.with_bias_scaled.value == Approx(centred.sigma_scaled.value).epsilon(1e-12));
  const Conditioning none = kappa(moments, {});
  CHECK(none.with_bias.value == none.second_moment.value);
  CHECK(none.with_bias.value > 5 * none.sigma.value);
}

TEST_CASE("the solvers of the caller are used") {
  const Moments moments = moments_of(gaussian_matrix(100, 4, 5));
  int calls = 0, with_vectors = 0;
  KappaOptions options;
  options.solvers.eigenvalues = [&](const Eigen::MatrixXd& matrix) {
    ++calls;
    return dense_eigenvalues(matrix);
  };
  options.solvers.eigenpairs = [&](const Eigen::MatrixXd& matrix) {
    ++with_vectors;
    return symmetric_eigen(matrix);
  };
  const Conditioning mine = kappa(moments, moments.mean, options);
  const Conditioning own = kappa(moments, moments.mean);
  CHECK(calls == 3);
  CHECK(with_vectors == 1);
  CHECK(mine.with_bias.value == own.with_bias.value);
  CHECK(mine.with_bias_scaled.value == Approx(own.with_bias_scaled.value).epsilon(1e-12));
}

TEST_CASE("ranks and isotropy of known spectra") {
  Moments moments;
  moments.n = 1000;
  moments.n_effective = 1000;
  moments.mean = Eigen::VectorXd::Zero(4);
  moments.covariance = 3 * Eigen::MatrixXd::Identity(4, 4);
  const Conditioning isotropic = kappa(moments, {});
  // What a sample of 1,000 takes from each is put back: γ/2 of the entropy, about γ of the
  // isotropy.
  CHECK(isotropic.effective_rank.value == Approx(4 * std::exp(5 / 2000.0)));
  CHECK(isotropic.stable_rank.value == Approx(4));
  CHECK(isotropic.isotropy.value == Approx(1 + 5 / 1000.0).epsilon(2e-3));
  CHECK(isotropic.mean_leverage == 0);
  moments.covariance = Eigen::Vector4d(5, 5, 0, 0).asDiagonal();
  const Conditioning half = kappa(moments, {});
  CHECK(half.effective_rank.value == Approx(2 * std::exp(3 / 2000.0)));
  CHECK(half.stable_rank.value == Approx(2));
  CHECK(half.isotropy.value == Approx(0.5 * (1 + 3 / 1000.0)).epsilon(2e-3));
  CHECK(std::isnan(half.variance_along_mean));
  moments.mean = Eigen::Vector4d(1, 0, 2, 0);
  const Conditioning shifted = kappa(moments, {});
  CHECK(shifted.variance_along_mean == Approx(1));
  CHECK(shifted.average_variance == Approx(2.5));
}

TEST_CASE("no rows and one row have no kappa, and say so") {
  for (Eigen::Index n : {0, 1}) {
    const Conditioning c = of_rows(RowMatrixD::Ones(n, 3));
    for (const KappaEstimate* estimate : {&c.sigma, &c.second_moment, &c.with_bias_scaled}) {
      CHECK(std::isnan(estimate->value));
      CHECK(std::isnan(estimate->shrunk));
      CHECK(estimate->lower == 1);
      CHECK(std::isinf(estimate->upper));
      CHECK(estimate->resolution == Resolution::kDegenerate);
      CHECK(says(*estimate, n == 0 ? "no row was seen" : "a single row"));
    }
    CHECK(c.constant_features == 0);
  }
  CHECK(says(of_rows(RowMatrixD(5, 0)).sigma, "no features"));
}

TEST_CASE("a single feature is perfectly conditioned, unless it is zero") {
  const Conditioning c = of_rows(gaussian_matrix(10, 1, 6));
  CHECK(c.sigma.value == 1);
  CHECK(c.sigma.lower == 1);
  CHECK(c.sigma.upper == 1);
  CHECK(c.sigma.resolution == Resolution::kResolved);
  const Conditioning zero = of_rows(RowMatrixD::Zero(10, 1));
  CHECK(std::isnan(zero.sigma.value));
  CHECK(zero.sigma.resolution == Resolution::kDegenerate);
  CHECK(zero.sigma.null_dimension == 1);
}

TEST_CASE("a dead unit and a constant feature are counted, and the rest keeps its kappa") {
  RowMatrixD rows = gaussian_matrix(600, 6, 7);
  rows.col(1).setZero();
  rows.col(4).setConstant(0.1);
  const Conditioning c = of_rows(rows);
  CHECK(c.constant_features == 2);
  CHECK(c.dead_features == 1);
  CHECK(c.sigma.resolution == Resolution::kDegenerate);
  CHECK(std::isinf(c.sigma.value));
  CHECK(c.sigma.null_dimension == 2);
  CHECK(says(c.sigma, "2 of 6 directions are null"));
  RowMatrixD alive(600, 4);
  alive << rows.col(0), rows.col(2), rows.col(3), rows.col(5);
  const KappaEstimate rest = of_rows(alive).sigma;
  CHECK(c.sigma.on_range == Approx(rest.value).epsilon(1e-10));
  CHECK(c.sigma.lower == Approx(rest.lower).epsilon(1e-6));
  CHECK(std::isinf(c.sigma.upper));
  // The constant feature's mean makes any constant, and gives the second moment one direction more.
  CHECK(c.mean_leverage == 1);
  CHECK(c.second_moment.null_dimension == 1);
  CHECK(c.second_moment_scaled.null_dimension == 1);
}

TEST_CASE("a linear dependence between features is a null space, found with its threshold") {
  RowMatrixD rows = gaussian_matrix(500, 5, 8);
  rows.col(4) = rows.col(0) - 2 * rows.col(2);
  const KappaEstimate sigma = of_rows(rows).sigma;
  CHECK(sigma.null_dimension == 1);
  CHECK(sigma.resolution == Resolution::kDegenerate);
  CHECK(sigma.null_threshold ==
        Approx(sigma.lambda_max * 5 * std::numeric_limits<double>::epsilon()));
}

TEST_CASE("fewer rows than features resolve nothing, but the shrunk kappa is finite") {
  const Conditioning c = of_rows(gaussian_matrix(20, 40, 9));
  CHECK(c.sigma.resolution == Resolution::kNotResolvable);
  CHECK(says(c.sigma, "20 effective rows for 40 features"));
  CHECK(std::isinf(c.sigma.value));
  CHECK(c.sigma.null_dimension == 21);
  CHECK(c.sigma.lower == 1);
  CHECK(std::isinf(c.sigma.upper));
  CHECK(c.sigma.shrunk < 3);
  // Barely more rows than features: finite, and off by orders of magnitude.
  const KappaEstimate barely = of_rows(gaussian_matrix(72, 64, 10)).sigma;
  CHECK(barely.resolution == Resolution::kNotResolvable);
  CHECK(barely.value > 100);
  CHECK(says(barely, "72 effective rows for 64 features: the sampling factor is"));
}

TEST_CASE("as many rows as features are too few where features depend on one another too") {
  // Two copies leave four directions, fewer than the rows.
  RowMatrixD rows = gaussian_matrix(6, 6, 3);
  rows.col(4) = rows.col(5) = rows.col(3);
  const auto found = kappa(moments_of(rows), {});
  CHECK(found.sigma.null_dimension == 2);
  CHECK(found.sigma.resolution == Resolution::kNotResolvable);
  CHECK_THAT(found.sigma.reason, Catch::Contains("singular"));
}

TEST_CASE("n_effective, not n, decides") {
  Moments moments = whitened_moments(Rows::kGaussian, 6400, 16, 1);
  CHECK(kappa(moments, {}).sigma.resolution == Resolution::kResolved);
  moments.n_effective = 60;
  CHECK(kappa(moments, {}).sigma.resolution == Resolution::kBiased);
  moments.n_effective = 12;
  const KappaEstimate sigma = kappa(moments, {}).sigma;
  CHECK(sigma.resolution == Resolution::kNotResolvable);
  CHECK(std::isinf(sigma.upper));
  CHECK(sigma.value < 2);
}

TEST_CASE("without kept rows the tails are taken for Gaussian, and that is said") {
  Moments moments = whitened_moments(Rows::kEllipticalT, 640, 16, 2);
  const Conditioning seen = kappa(moments, {});
  moments.sample.resize(0, 16);
  CHECK(kappa(moments, {}).kurtosis > 4);  // the sums over all rows know
  moments.fourth = {};
  const Conditioning unseen = kappa(moments, {});
  CHECK(unseen.assumed_gaussian);
  CHECK(unseen.kurtosis == 3);
  CHECK(seen.kurtosis > 4);
  CHECK(unseen.sigma.upper < seen.sigma.upper);
}

TEST_CASE("a mean a million times larger leaves the digits of the smallest eigenvalue") {
  // κ(Σ+μμᵀ) of Σ = diag(1e-6, 1) and μ = 1e6 e_2: the smallest eigenvalue stays 1e-6.
  Moments moments;
  moments.n = 100000;
  moments.n_effective = 100000;
  moments.mean = Eigen::Vector2d(0, 1e6);
  moments.covariance = Eigen::Vector2d(1e-6, 1).asDiagonal();
  const KappaEstimate second = kappa(moments, {}).second_moment;
  CHECK(second.value == Approx((1 + 1e12) / 1e-6).epsilon(1e-14));
  CHECK(second.resolution == Resolution::kResolved);
}

TEST_CASE("moments that overflowed are named") {
  Moments moments = moments_of(gaussian_matrix(10, 2, 11));
  moments.covariance(0, 0) = std::numeric_limits<double>::infinity();
  KappaOptions options;  // no solver is asked
  options.solvers.eigenpairs = [](const Eigen::MatrixXd&) -> SymmetricEigen { throw 1; };
  for (const Eigen::Index factorise_from : {-1, 1}) {
    options.factorise_from = factorise_from;
    const KappaEstimate sigma = kappa(moments, {}, options).sigma;
    CHECK(sigma.resolution == Resolution::kDegenerate);
    CHECK(says(sigma, "not finite"));
  }
}

TEST_CASE("rows, an accumulator and its moments give the same, by either route") {
  const RowMatrixD rows = gaussian_matrix(300, 8, 31) * with_spectrum(geometric_spectrum(8, 4), 32);
  const Eigen::VectorXd bias = gaussian_matrix(8, 1, 33);
  MomentAccumulator moments(8);
  moments.update(rows);
  for (const Eigen::Index factorise_from : {-1, 8}) {
    KappaOptions options;
    options.factorise_from = factorise_from;
    const Conditioning of_rows = kappa(rows, bias, options);
    CHECK((of_rows.route == Route::kFactorisation) == (factorise_from == 8));
    CHECK(kappa(moments, bias, options).with_bias.upper == of_rows.with_bias.upper);
    CHECK(kappa(moments.result(), bias, options).with_bias.upper == of_rows.with_bias.upper);
    const Eigen::MatrixXd sigma = moments.result().covariance;
    CHECK(of_rows.sigma.value == Approx(dense_kappa(sigma)).epsilon(1e-5));
  }
  KappaOptions nine;
  nine.factorise_from = 9;
  CHECK(kappa(rows, {}, nine).route == Route::kDecomposition);
}

TEST_CASE("rows of one sequence count for less") {
  RowMatrixD rows = 1e-3 * gaussian_matrix(400, 3, 35);  // each row nearly four times
  const RowMatrixD once = gaussian_matrix(100, 3, 34);
  for (Eigen::Index i = 0; i < 400; ++i) rows.row(i) += once.row(i / 4);
  KappaOptions options;
  options.rows_per_group = 4;
  CHECK(kappa(rows).sigma.n_effective == Approx(400));
  const KappaEstimate grouped = kappa(rows, {}, options).sigma;
  CHECK(grouped.n_effective == Approx(100).epsilon(0.2));
  CHECK(grouped.value == kappa(rows).sigma.value);
  CHECK(grouped.upper > kappa(rows).sigma.upper);
}

TEST_CASE("inputs that do not fit are refused") {
  const Moments moments = moments_of(gaussian_matrix(10, 2, 12));
  CHECK_THROWS_AS(kappa(moments, Eigen::VectorXd::Ones(3)), kappascope::Error);
  KappaOptions options;
  options.confidence = 1;
  CHECK_THROWS_AS(kappa(moments, {}, options), kappascope::Error);
  options = {};
  options.solvers.eigenpairs = [](const Eigen::MatrixXd&) {
    return symmetric_eigen(Eigen::MatrixXd::Identity(3, 3));
  };
  CHECK_THROWS_AS(kappa(moments, {}, options), kappascope::Error);
}
