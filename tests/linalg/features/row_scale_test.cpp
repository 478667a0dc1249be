// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/row_scale.h"

#include <cmath>
#include <limits>

#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

TEST_CASE("rows are scaled by a power of two and only where squares would not fit") {
  for (const double fits : {1e-9, 1.0, 1e9}) CHECK(row_scale(fits) == 1);
  CHECK(row_scale(0) == 1);
  CHECK(row_scale(std::numeric_limits<double>::infinity()) == 1);
  CHECK(row_scale(std::ldexp(1.5, -200)) == std::ldexp(1.0, 200));
  CHECK(row_scale(std::ldexp(1.0, 500)) == std::ldexp(1.0, -500));
  CHECK(row_scale(std::numeric_limits<double>::denorm_min()) == std::ldexp(1.0, 900));
}

TEST_CASE("a condition number does not change with the scale of the rows however small or large") {
  const RowMatrixD rows =
      (gaussian_matrix(400, 6, 1) * with_spectrum(geometric_spectrum(6, 30), 2)).array() + 2;
  const Eigen::VectorXd bias = gaussian_matrix(6, 1, 3);
  for (const Eigen::Index factorise_from : {-1, 1}) {
    KappaOptions options;
    options.factorise_from = factorise_from;
    const Conditioning c = kappa(rows, bias, options);
    for (const int exponent : {-1000, -565, -100, 100, 565, 890}) {
      CAPTURE(exponent, factorise_from);
      const double scale = std::ldexp(1.0, exponent);
      const Conditioning scaled = kappa(RowMatrixD(rows * scale), bias * scale, options);
      CHECK(scaled.constant_features == 0);
      CHECK(scaled.sigma.value == Approx(c.sigma.value).epsilon(1e-12));
      CHECK(scaled.sigma.upper == Approx(c.sigma.upper).epsilon(1e-6));
      CHECK(scaled.sigma.resolution == c.sigma.resolution);
      CHECK(scaled.with_bias.value == Approx(c.with_bias.value).epsilon(1e-12));
      CHECK(scaled.sigma_scaled.value == Approx(c.sigma_scaled.value).epsilon(1e-12));
      CHECK(scaled.mean_leverage == Approx(c.mean_leverage).epsilon(1e-12));
      if (std::abs(exponent) <= 100) {
        CHECK(scaled.sigma.lambda_max == Approx(c.sigma.lambda_max * scale * scale).epsilon(1e-12));
        CHECK(scaled.average_variance ==
              Approx(c.average_variance * scale * scale).epsilon(1e-12).margin(0));
      }
    }
  }
}
