// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kappascope/core/error.h"
#include "linalg/features/conditioning.h"
#include "support/catch.h"
#include "support/matrices.h"
#include "support/planted.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

/// The two routes on one matrix. An end of the wide one is right to its bound and d ε λmax; the
/// interval adds the tails, whose kurtosis the two routes read in different directions.
void check_same(const KappaEstimate& wide, const KappaEstimate& exact, bool kappa = true) {
  CAPTURE(wide.value, exact.value, wide.reason, exact.reason);
  const double top = wide.lambda_max_bound + exact.null_threshold;
  const double bottom = wide.lambda_min_bound + exact.null_threshold;
  CHECK(std::abs(wide.lambda_max - exact.lambda_max) <= top);
  CHECK(std::abs(wide.lambda_min - exact.lambda_min) <= bottom);
  CHECK(wide.null_dimension == exact.null_dimension);
  CHECK(wide.resolution == exact.resolution);
  CHECK(wide.shrunk == Approx(exact.shrunk).epsilon(1e-5));
  if (!kappa) return;
  CHECK(wide.value == Approx(exact.value).epsilon(1e-5));
  CHECK(wide.on_range == Approx(exact.on_range).epsilon(1e-5));
  CHECK(wide.lower == Approx(exact.lower).epsilon(0.1));
  CHECK(wide.upper == Approx(exact.upper).epsilon(0.1));
}

}  // namespace

TEST_CASE("the wide route says what the decomposition says, of all six matrices") {
  for (const Eigen::Index d : {5, 40, 150}) {
    CAPTURE(d);
    const Eigen::VectorXd mu = 3 * gaussian_matrix(d, 1, 1);
    const RowMatrixD rows =
        (gaussian_matrix(20 * d, d, 2) * with_spectrum(geometric_spectrum(d, 30), 3)).rowwise() +
        mu.transpose();
    const Moments moments = moments_of(rows);
    const Eigen::VectorXd bias = -0.7 * moments.mean + gaussian_matrix(d, 1, 4);
    const Conditioning exact = conditioning_by_decomposition(moments, bias);
    const Conditioning wide = conditioning_by_factorisation(moments, bias);
    CHECK(exact.route == Route::kDecomposition);
    CHECK(wide.route == Route::kFactorisation);
    CHECK(wide.products > 20);
    check_same(wide.sigma, exact.sigma);
    check_same(wide.second_moment, exact.second_moment);
    check_same(wide.with_bias, exact.with_bias);
    check_same(wide.sigma_scaled, exact.sigma_scaled);
    check_same(wide.second_moment_scaled, exact.second_moment_scaled);
    check_same(wide.with_bias_scaled, exact.with_bias_scaled);
    CHECK(wide.stable_rank.value == Approx(exact.stable_rank.value).epsilon(1e-5));
    CHECK(wide.isotropy.value == Approx(exact.isotropy.value).epsilon(1e-10));
    CHECK(wide.mean_leverage == Approx(exact.mean_leverage).epsilon(1e-8));
    CHECK(wide.variance_along_mean == Approx(exact.variance_along_mean).epsilon(1e-10));
    CHECK(wide.average_variance == Approx(exact.average_variance).epsilon(1e-12));
    CHECK(wide.assumed_gaussian == exact.assumed_gaussian);
    // The wide one is a quadrature, whose error is in the interval.
    CHECK(wide.effective_rank.lower <= exact.effective_rank.value);
    CHECK(wide.effective_rank.upper >= exact.effective_rank.value);
    CHECK(wide.effective_rank.upper - wide.effective_rank.lower >
          exact.effective_rank.upper - exact.effective_rank.lower);
  }
}

TEST_CASE("without a bias the second moment stands in, in the wide route too") {
  const Moments moments = moments_of(gaussian_matrix(300, 10, 5).array() + 1);
  const Conditioning wide = conditioning_by_factorisation(moments, {});
  CHECK(wide.with_bias.value == wide.second_moment.value);
  CHECK(wide.with_bias_scaled.value == wide.second_moment_scaled.value);
  const Conditioning centred = conditioning_by_factorisation(moments, -moments.mean);
  CHECK(centred.with_bias.value == Approx(centred.sigma.value).epsilon(1e-8));
}

TEST_CASE("dead, constant and dependent features are the same in both routes") {
  RowMatrixD rows = gaussian_matrix(900, 30, 6);
  rows.col(1).setZero();
  rows.col(4).setConstant(0.1);
  rows.col(7) = rows.col(2) - 2 * rows.col(3);
  const Moments moments = moments_of(rows);
  const Conditioning exact = conditioning_by_decomposition(moments, {});
  const Conditioning wide = conditioning_by_factorisation(moments, {});
  CHECK(wide.constant_features == 2);
  CHECK(wide.dead_features == 1);
  CHECK(wide.sigma.null_dimension == 3);
  CHECK(std::isinf(wide.sigma.value));
  check_same(wide.sigma, exact.sigma);
  check_same(wide.second_moment, exact.second_moment);
  check_same(wide.sigma_scaled, exact.sigma_scaled);
  CHECK(wide.mean_leverage == 1);
}

TEST_CASE("no more rows than features: singular by count, and nothing is made up") {
  const Moments moments = moments_of(gaussian_matrix(20, 40, 7).array() + 1);
  const Conditioning exact = conditioning_by_decomposition(moments, {});
  const Conditioning wide = conditioning_by_factorisation(moments, {});
  for (const auto& [ours, theirs] : {std::pair{&wide.sigma, &exact.sigma},
                                     std::pair{&wide.second_moment, &exact.second_moment},
                                     std::pair{&wide.sigma_scaled, &exact.sigma_scaled}}) {
    check_same(*ours, *theirs, false);
    CHECK(std::isinf(ours->value));
    CHECK(std::isnan(ours->on_range));
    CHECK(ours->lower == 1);
    CHECK(std::isinf(ours->upper));
  }
  CHECK(wide.sigma.null_dimension == 21);
  CHECK(wide.sigma.resolution == Resolution::kNotResolvable);
  CHECK(std::isnan(wide.mean_leverage));
}

TEST_CASE("an end that does not converge is said, not hidden") {
  FactorisationOptions options;
  options.factor.max_products = 2;
  const Moments moments =
      moments_of(gaussian_matrix(900, 60, 8) * with_spectrum(geometric_spectrum(60, 5), 9));
  const KappaEstimate sigma = conditioning_by_factorisation(moments, {}, options).sigma;
  CHECK(sigma.resolution == Resolution::kNotResolvable);
  CHECK(sigma.reason == "the ends of the spectrum did not converge");
  CHECK(sigma.lambda_max_bound > 1e-3 * sigma.lambda_max);
  CHECK(sigma.lower == 1);
}

TEST_CASE("what has no spectrum, and what does not fit, is as in the other route") {
  CHECK(conditioning_by_factorisation(moments_of(RowMatrixD::Ones(1, 3)), {}).sigma.resolution ==
        Resolution::kDegenerate);
  const KappaEstimate zero =
      conditioning_by_factorisation(moments_of(RowMatrixD::Zero(10, 3)), {}).sigma;
  CHECK(zero.resolution == Resolution::kDegenerate);
  CHECK(std::isnan(zero.value));
  CHECK(zero.null_dimension == 3);
  CHECK(conditioning_by_factorisation(moments_of(gaussian_matrix(10, 1, 10)), {}).sigma.value == 1);
  const Moments moments = moments_of(gaussian_matrix(10, 2, 11));
  CHECK_THROWS_AS(conditioning_by_factorisation(moments, Eigen::VectorXd::Ones(3)),
                  kappascope::Error);
}
