// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/updated_spectrum.h"

#include <Eigen/QR>
#include <cmath>
#include <limits>

#include "kappascope/linalg/features/kappa.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope;
using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

KappaOptions from_rows() {
  KappaOptions options;
  options.from_rows = true;
  return options;
}

/// Rows [n, d] whose covariance has these eigenvalues: orthonormal columns that sum to zero, scaled
/// and rotated.
RowMatrixD rows_with(const Eigen::VectorXd& spectrum, Eigen::Index n) {
  Eigen::MatrixXd columns = gaussian_matrix(n, spectrum.size(), 41);
  columns.rowwise() -= columns.colwise().mean();
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(columns);
  const Eigen::MatrixXd thin = qr.householderQ() * Eigen::MatrixXd::Identity(n, spectrum.size());
  const Eigen::VectorXd lengths = (spectrum * static_cast<double>(n)).cwiseSqrt();
  return thin * lengths.asDiagonal() * random_orthogonal(spectrum.size(), 42).transpose();
}

// J. W. Longley, Journal of the American Statistical Association 62 (1967): deflator, product,
// unemployed, armed forces, population and year; the set on which NIST certifies regressions.
RowMatrixD longley_with_intercept() {
  RowMatrixD rows(16, 7);
  rows << 1, 83.0, 234289, 2356, 1590, 107608, 1947,  //
      1, 88.5, 259426, 2325, 1456, 108632, 1948,      //
      1, 88.2, 258054, 3682, 1616, 109773, 1949,      //
      1, 89.5, 284599, 3351, 1650, 110929, 1950,      //
      1, 96.2, 328975, 2099, 3099, 112075, 1951,      //
      1, 98.1, 346999, 1932, 3594, 113270, 1952,      //
      1, 99.0, 365385, 1870, 3547, 115094, 1953,      //
      1, 100.0, 363112, 3578, 3350, 116219, 1954,     //
      1, 101.2, 397469, 2904, 3048, 117388, 1955,     //
      1, 104.6, 419180, 2822, 2857, 118734, 1956,     //
      1, 108.4, 442769, 2936, 2798, 120445, 1957,     //
      1, 110.8, 444546, 4681, 2637, 121950, 1958,     //
      1, 112.6, 482704, 3813, 2552, 123366, 1959,     //
      1, 114.2, 502601, 3931, 2514, 125368, 1960,     //
      1, 115.7, 518173, 4806, 2572, 127852, 1961,     //
      1, 116.9, 554894, 4007, 2827, 130081, 1962;
  return rows;
}

}  // namespace

TEST_CASE("rows and their covariance give the same estimates where both hold them") {
  const RowMatrixD rows =
      (gaussian_matrix(600, 6, 43) * with_spectrum(geometric_spectrum(6, 8), 44)).rowwise() +
      Eigen::RowVectorXd::LinSpaced(6, -2, 3);
  const Eigen::VectorXd bias = gaussian_matrix(6, 1, 45);
  const Conditioning a = kappa(rows, bias), b = kappa(rows, bias, from_rows());
  CHECK(a.route == Route::kDecomposition);
  CHECK(b.route == Route::kSingularValues);
  CHECK(b.rows == 600);
  for (const auto member : {&Conditioning::sigma,
                            &Conditioning::second_moment,
                            &Conditioning::with_bias,
                            &Conditioning::sigma_scaled,
                            &Conditioning::second_moment_scaled,
                            &Conditioning::with_bias_scaled}) {
    const KappaEstimate &by_covariance = a.*member, &by_rows = b.*member;
    CHECK(by_rows.value == Approx(by_covariance.value).epsilon(1e-10));
    CHECK(by_rows.shrunk == Approx(by_covariance.shrunk).epsilon(1e-8));
    CHECK(by_rows.resolution == by_covariance.resolution);
    // The tails are read off other rows, of as many.
    CHECK(by_rows.upper == Approx(by_covariance.upper).epsilon(0.1));
    CHECK(by_rows.lower == Approx(by_covariance.lower).epsilon(0.1));
  }
  CHECK(b.mean_costs.value == Approx(a.mean_costs.value).epsilon(1e-9));
  CHECK(b.mean_costs.upper == Approx(a.mean_costs.upper).epsilon(1e-6));
  CHECK(b.bias_leaves.lower == Approx(a.bias_leaves.lower).epsilon(1e-6));
  CHECK(b.mean_leverage == Approx(a.mean_leverage).epsilon(1e-9));
}

TEST_CASE("rows hold a condition number that is lost in their covariance") {
  // Rounding of the rows alone moves the least singular value by ε · 10⁹ of itself.
  constexpr double kKappa = 1e18;
  const RowMatrixD rows = rows_with(geometric_spectrum(6, kKappa), 2000);
  const Conditioning found = kappa(rows, {}, from_rows());
  CHECK(found.sigma.value == Approx(kKappa).epsilon(1e-5));
  CHECK(found.sigma.resolution == Resolution::kResolved);
  CHECK(found.sigma.lower <= kKappa);
  CHECK(found.sigma.upper >= kKappa);
  CHECK(kappa(rows).sigma.resolution == Resolution::kDegenerate);
}

TEST_CASE("rows do not hold what their own rounding hides") {
  const RowMatrixD rows = rows_with(geometric_spectrum(6, 1e40), 2000);
  const KappaEstimate sigma = kappa(rows, {}, from_rows()).sigma;
  CHECK(sigma.resolution != Resolution::kResolved);
  CHECK(sigma.upper == std::numeric_limits<double>::infinity());
  // The same rows, as they come from a layer in float.
  KappaOptions of_floats = from_rows();
  of_floats.moments.precision.unit = 0x1p-24;
  const RowMatrixD milder = rows_with(geometric_spectrum(6, 1e16), 2000);
  CHECK(kappa(milder, {}, from_rows()).sigma.resolution == Resolution::kResolved);
  CHECK(kappa(milder, {}, of_floats).sigma.resolution != Resolution::kResolved);
}

TEST_CASE("Longley's regressors have the condition number that statistics programs print") {
  // 4859257015.454868 is statsmodels' number of the design matrix (its test of NIST's set).
  const Conditioning found = kappa(longley_with_intercept(), {}, from_rows());
  CHECK(std::sqrt(found.second_moment.value) == Approx(4859257015.454868).epsilon(5e-6));
  CHECK(found.constant_features == 1);
  CHECK(kappa(longley_with_intercept()).second_moment.resolution != Resolution::kResolved);
}

TEST_CASE("rows that are not finite, few or zero are said as without a factor of theirs") {
  RowMatrixD rows = gaussian_matrix(50, 3, 46);
  const KappaEstimate all = kappa(rows, {}, from_rows()).sigma;
  RowMatrixD more(51, 3);
  more << rows, Eigen::RowVector3d(1, std::numeric_limits<double>::quiet_NaN(), 2);
  const Conditioning found = kappa(more, {}, from_rows());
  CHECK(found.nonfinite_rows == 1);
  CHECK(found.sigma.value == Approx(all.value).epsilon(1e-12));

  CHECK(kappa(rows.topRows(2), {}, from_rows()).sigma.resolution == Resolution::kNotResolvable);
  CHECK(kappa(rows.topRows(1), {}, from_rows()).sigma.reason == "a single row has no covariance");
  CHECK(kappa(rows.topRows(0), {}, from_rows()).sigma.reason == "no row was seen");
  rows.setZero();
  CHECK(kappa(rows, {}, from_rows()).sigma.resolution == Resolution::kDegenerate);
  rows.col(1).setConstant(3);
  CHECK(kappa(rows, {}, from_rows()).second_moment.on_range == 1);
}

TEST_CASE("singular values of a root and one more row are the eigenvalues of the sum") {
  const Eigen::MatrixXd factor = gaussian_matrix(7, 5, 47);
  const Eigen::VectorXd v = gaussian_matrix(5, 1, 48);
  const Eigen::MatrixXd sum = factor.transpose() * factor + v * v.transpose();
  const SymmetricEigen found = root_eigen(factor, v);
  CHECK((found.values - dense_eigenvalues(sum)).norm() < 1e-12 * sum.norm());
  CHECK((sum * found.vectors - found.vectors * found.values.asDiagonal()).norm() <
        1e-12 * sum.norm());
}
