// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/shrinkage.h"

#include <cmath>

#include "kappascope/linalg/features/kappa.h"
#include "support/catch.h"
#include "support/matrices.h"
#include "support/planted.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

SecondMomentFacts facts_of(const Moments& moments) {
  const Eigen::VectorXd one = Eigen::VectorXd::Ones(moments.mean.size());
  return {.dimension = moments.mean.size(),
          .n_effective = moments.n_effective,
          .trace = moments.covariance.trace(),
          .frobenius_squared = moments.covariance.squaredNorm(),
          .fourth = sample_fourth_moment(moments.sample, moments.mean, one)};
}

double squared_error(const Moments& moments, double weight, const Eigen::VectorXd& truth) {
  const double target = moments.covariance.trace() / static_cast<double>(truth.size());
  Eigen::MatrixXd error = (1 - weight) * moments.covariance;
  error.diagonal().array() += weight * target - truth.array();
  return error.squaredNorm();
}

}  // namespace

TEST_CASE("the weight is that of Ledoit and Wolf's own sums over rows") {
  const Moments moments = whitened_moments(Rows::kGaussian, 40, 10, 1);
  const RowMatrixD rows = moments.sample.cast<double>().rowwise() - moments.mean.transpose();
  double spread_of_rows = 0;
  for (Eigen::Index i = 0; i < 40; ++i) {
    spread_of_rows +=
        (rows.row(i).transpose() * rows.row(i) - moments.covariance).squaredNorm() / (40.0 * 40.0);
  }
  Eigen::MatrixXd deviation = moments.covariance;
  deviation.diagonal().array() -= moments.covariance.trace() / 10;
  const double expected = std::min(1.0, spread_of_rows / deviation.squaredNorm());
  CHECK(shrinkage_weight(facts_of(moments)) == Approx(expected).epsilon(1e-5));
}

TEST_CASE("the shrunk kappa is that of the shrunk spectrum") {
  // tr S = 10 in 4 dimensions and ‖S‖² = 40: the spread is 40 - 25, the error (160 - 40) / 10, the
  // weight 12/15, and each eigenvalue goes to a fifth of itself and four fifths of 2.5.
  const SecondMomentFacts facts{
      .dimension = 4, .n_effective = 10, .trace = 10, .frobenius_squared = 40, .fourth = 160};
  CHECK(shrinkage_weight(facts) == Approx(0.8));
  CHECK(shrunk_kappa(facts, 1, 5) == Approx((0.2 * 5 + 2) / (0.2 * 1 + 2)));
  CHECK(shrunk_kappa(facts, -1e-12, 5) == Approx((0.2 * 5 + 2) / 2));
}

TEST_CASE("the shrunk kappa is of all rows, whichever were kept") {
  // Rows of products, as a gate makes them: a few rows make most of the fourth moment.
  const RowMatrixD gate = gaussian_matrix(900, 12, 5).array().exp();
  const RowMatrixD products = gate.cwiseProduct(gaussian_matrix(900, 12, 6));
  const Eigen::VectorXd scale = Eigen::VectorXd::LinSpaced(12, 1, 6);
  const RowMatrixD rows = (products * scale.asDiagonal()).array() + 1e3;
  const Eigen::VectorXd mean = rows.colwise().mean().transpose();
  const Eigen::VectorXd bias = -0.999 * mean;
  const auto shrunk_about = [&](const Eigen::VectorXd& centre) {
    const RowMatrixD y = rows.rowwise() - centre.transpose();
    const Eigen::MatrixXd second = y.transpose() * y / 900;
    const Eigen::VectorXd values = dense_eigenvalues(second);
    return shrunk_kappa({.dimension = 12,
                         .n_effective = 900,
                         .trace = second.trace(),
                         .frobenius_squared = second.squaredNorm(),
                         .fourth = y.rowwise().squaredNorm().squaredNorm() / 900},
                        values(0),
                        values(11));
  };
  for (const Eigen::Index kept : {0, 16, 512}) {
    for (const Eigen::Index factorise_from : {-1, 1}) {
      KappaOptions options;
      options.factorise_from = factorise_from;
      MomentAccumulator first(12, {.sample_rows = kept, .seed = 7});
      MomentAccumulator second(12, {.sample_rows = kept, .seed = 7});
      first.update(rows.topRows(300));
      second.update(rows.bottomRows(600));
      first.merge(second);
      const Conditioning found = kappa(first, bias, options);
      // Ends from Lanczos are good to its tolerance; sums about 1e3 lose the square of that.
      const double error = factorise_from < 0 ? 1e-9 : 1e-5;
      CHECK(found.sigma.shrunk == Approx(shrunk_about(mean)).epsilon(error));
      CHECK(found.second_moment.shrunk ==
            Approx(shrunk_about(Eigen::VectorXd::Zero(12))).epsilon(error));
      CHECK(found.with_bias.shrunk == Approx(shrunk_about(-bias)).epsilon(error));
    }
  }
}

TEST_CASE("the weight lowers the error on average, against none and against half of it") {
  // Means over 200 draws; the differences are several standard errors wide (25 % of the error).
  const Eigen::VectorXd truth = geometric_spectrum(20, 10);
  double shrunk = 0;
  double half = 0;
  double none = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Moments moments =
        planted(whitened_moments(Rows::kGaussian, 30, 20, seed), truth, Eigen::VectorXd::Zero(20));
    const double weight = shrinkage_weight(facts_of(moments));
    shrunk += squared_error(moments, weight, truth);
    half += squared_error(moments, weight / 2, truth);
    none += squared_error(moments, 0, truth);
  }
  CHECK(shrunk < half);
  CHECK(half < none);
}

TEST_CASE("an isotropic sample is shrunk whole, and a zero one has no kappa") {
  CHECK(shrinkage_weight({.dimension = 3, .n_effective = 9, .trace = 6, .frobenius_squared = 12}) ==
        1);
  CHECK(std::isnan(shrunk_kappa({.dimension = 3, .n_effective = 9}, 0, 0)));
}

TEST_CASE("the Gaussian fourth moment agrees with its rows, mean included") {
  // E‖y‖⁴ of 512 rows of width 30: its relative standard error is about 4/sqrt(30·512) = 3 %.
  Moments moments = whitened_moments(Rows::kGaussian, 512, 30, 2);
  const Eigen::VectorXd mean = Eigen::VectorXd::Constant(30, 0.5);
  const Eigen::MatrixXd second = Eigen::MatrixXd::Identity(30, 30) + mean * mean.transpose();
  const double expected =
      gaussian_fourth_moment(second.trace(), second.squaredNorm(), mean.squaredNorm());
  const double seen = sample_fourth_moment(moments.sample, -mean, Eigen::VectorXd::Ones(30));
  CHECK(seen == Approx(expected).epsilon(0.1));
  CHECK(sample_fourth_moment(
            RowMatrixF(0, 3), Eigen::VectorXd::Zero(3), Eigen::VectorXd::Ones(3)) == 0);
}
