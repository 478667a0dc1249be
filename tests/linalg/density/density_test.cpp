// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/density.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "kappascope/core/error.h"
#include "linalg/density/spectra.h"
#include "linalg/density_in.h"
#include "linalg/density_sample.h"
#include "linalg/host_basis.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

TEST_CASE("weights sum to one and the first moment is the trace, to rounding") {
  const Eigen::MatrixXd matrix = with_spectrum(hessian_like(80), 1);
  const Density density = spectral_density(dense_operator(matrix), {.steps = 30});
  CHECK(density.weights.sum() == Approx(1).epsilon(1e-13));
  CHECK(80 * density.weights.dot(density.nodes) == Approx(density.trace).epsilon(1e-13));
  CHECK(density.products == 120);
  const double step = density.grid(1) - density.grid(0);
  CHECK(density.density.sum() * step == Approx(1).epsilon(1e-3));
  CHECK((density.lower.array() <= density.density.array()).all());
  CHECK((density.upper.array() >= density.density.array()).all());
  CHECK(density.lower.minCoeff() >= 0);
}

TEST_CASE("moments up to the degree of the quadrature are exact for each start") {
  const Eigen::MatrixXd matrix = with_spectrum(hessian_like(60), 2);
  const auto op = dense_operator(matrix);
  HostBasis basis(op);
  const DensityOptions options{.steps = 5, .starts = 1, .seed = 4};
  const Quadrature quadrature = quadratures_in(basis, op.product_noise, options)[0];
  const Eigen::VectorXd v = basis.columns(1);  // the start itself
  Eigen::VectorXd power = v;
  for (int degree = 0; degree <= 9; ++degree) {
    const double expected = v.dot(power);
    const double moment = quadrature.weights.dot(quadrature.nodes.array().pow(degree).matrix());
    CHECK(moment == Approx(expected).epsilon(1e-11));
    power = matrix * power;
  }
  // Degree 2m is the first that m nodes miss.
  CHECK(quadrature.weights.dot(quadrature.nodes.array().pow(10).matrix()) !=
        Approx(v.dot(power)).epsilon(1e-11));
}

TEST_CASE("the trace lies within its error, and the band covers the smoothed spectrum") {
  // 60 seeds. |trace error| > t(9; 97.5 %) standard errors happens in 5 % of seeds for normal
  // starts: P(Binomial(60, 0.05) > 9) = 1e-3. The pointwise band is of the same kind, but a density
  // over few eigenvalues is skewed; 85 % of all points is what it may lose to that.
  const Eigen::Index n = 120;
  const Eigen::VectorXd spectrum = hessian_like(n);
  const Eigen::MatrixXd matrix = with_spectrum(spectrum, 3);
  const DensityOptions shape{.steps = 60, .starts = 10, .points = 100, .bandwidth = 0.04};
  int trace_misses = 0;
  double covered = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    DensityOptions options = shape;
    options.seed = seed;
    const Density density = spectral_density(dense_operator(matrix), options);
    if (std::abs(density.trace - spectrum.sum()) > 2.262 * density.trace_stderr) ++trace_misses;
    const double sigma = 0.04 * (density.nodes.maxCoeff() - density.nodes.minCoeff());
    for (Eigen::Index i = 0; i < 100; ++i) {
      const Eigen::ArrayXd z = (spectrum.array() - density.grid(i)) / sigma;
      const double truth =
          (-0.5 * z.square()).exp().mean() / (sigma * std::sqrt(2 * std::numbers::pi));
      if (density.lower(i) <= truth + 1e-6 && truth <= density.upper(i) + 1e-6)
        covered += 1 / 6000.0;
    }
  }
  CHECK(trace_misses <= 9);
  CHECK(covered >= 0.85);
}

TEST_CASE("negative and near-zero mass are the shares of the spectrum") {
  // 40 starts over 200 eigenvalues: the share 1/4 has a standard error below
  // sqrt(2 · 0.25 · 0.75 / 200 / 40) = 0.007; five of them.
  const Eigen::MatrixXd matrix = with_spectrum(hessian_like(200), 4);
  const Density density = spectral_density(dense_operator(matrix), {.steps = 200, .starts = 40});
  CHECK(std::abs(density.negative_mass.value - 0.25) < 0.035);
  CHECK(std::abs(density.near_zero_mass.value - 0.25) < 0.035);
}

TEST_CASE("the zero operator, the identity and n = 1 are single peaks") {
  for (double value : {0.0, 3.0, -2.0}) {
    for (Eigen::Index n : {1, 30}) {
      const Density density =
          spectral_density(dense_operator(value * Eigen::MatrixXd::Identity(n, n)));
      CHECK(density.status == KrylovStatus::kConverged);
      CHECK(density.nodes.size() == 4);
      CHECK((density.nodes.array() - value).abs().maxCoeff() < 1e-14);
      CHECK(density.trace == Approx(value * static_cast<double>(n)).margin(1e-14));
      CHECK(density.trace_stderr < 1e-12);
      CHECK(density.density.allFinite());
      CHECK(density.negative_mass.value == Approx(value < 0 ? 1 : 0));
      CHECK(density.near_zero_mass.value == Approx(value == 0 ? 1 : 0));
    }
  }
}

TEST_CASE("one start has a band, of the known distribution of its forms") {
  const Density density =
      spectral_density(dense_operator(with_spectrum(hessian_like(40), 5)), {.starts = 1});
  CHECK(density.trace_stderr > 0);
  CHECK(density.start_share == Approx(1));
  CHECK((density.upper.array() >= density.density.array()).all());
  CHECK(density.density.allFinite());
  // A share of the eigenvalues lies between none and all of them, however much one start leaves
  // open.
  CHECK(density.cumulative_lower.minCoeff() >= 0);
  CHECK(density.cumulative_upper.maxCoeff() <= 1 + 1e-12);
}

TEST_CASE("an operator that returns NaN gives a status and no numbers") {
  const SymmetricOperator op{.size = 5, .apply = [](const auto& x, auto& y) {
                               y = x * std::numeric_limits<double>::quiet_NaN();
                             }};
  const Density density = spectral_density(op);
  CHECK(density.status == KrylovStatus::kNonFinite);
  CHECK(std::isnan(density.trace));
  CHECK(density.nodes.size() == 0);
  CHECK(density.products == 1);
}

TEST_CASE("options that make no density are refused") {
  const auto op = dense_operator(Eigen::MatrixXd::Identity(3, 3));
  CHECK_THROWS_AS(spectral_density(op, {.steps = 0}), kappascope::Error);
  CHECK_THROWS_AS(spectral_density(op, {.starts = 0}), kappascope::Error);
  CHECK_THROWS_AS(spectral_density(op, {.points = 1}), kappascope::Error);
  CHECK_THROWS_AS(spectral_density(op, {.bandwidth = 0}), kappascope::Error);
  CHECK_THROWS_AS(spectral_density(op, {.max_vectors = 2}), kappascope::Error);
  CHECK_THROWS_AS(spectral_density(op, {.outlier_gap = 0}), kappascope::Error);
}

TEST_CASE("outliers come with their bound, their number with its error, and a bulk has none") {
  Eigen::VectorXd spectrum = Eigen::VectorXd::LinSpaced(200, 0, 1);
  spectrum.head(5) << -5, 8, 8, 10, 10.3;  // the last two lie closer than the gap of 0.77
  const Eigen::MatrixXd matrix = with_spectrum(spectrum, 6);
  for (const int max_vectors : {0, 3}) {
    const Density density = spectral_density(
        dense_operator(matrix), {.steps = 60, .starts = 20, .max_vectors = max_vectors});
    CHECK(density.reorthogonalisation ==
          (max_vectors == 0 ? Reorthogonalisation::kPartial : Reorthogonalisation::kNone));
    // Without the basis, rounding decides whether a second copy of an outlier has left the bulk by
    // the last step and how far it has come: the bulk goes on to it if it is within the gap.
    const double copy = max_vectors == 0 ? 0 : 0.77;
    CHECK(density.bulk_low >= -copy);
    CHECK(density.bulk_high <= 1 + copy);
    REQUIRE(density.outliers.size() == 4);
    const Eigen::Vector4d want(10.3, 10, 8, -5);
    for (std::size_t i = 0; i < 4; ++i) {
      const Outlier& found = density.outliers[i];
      CHECK(std::abs(found.value - want(static_cast<Eigen::Index>(i))) <= found.bound);
      CHECK(found.bound < 1e-6);
    }
    // 5 of 200 by 20 starts: sqrt(2 · 5 · 195 / 202 / 20); beyond four of them once in 10⁴.
    CHECK(density.outlier_count_stderr == Approx(0.7).epsilon(0.5));
    CHECK(std::abs(density.outlier_count - 5) < 4 * 0.7);
  }
  // A gap within the bulk's own spacing is none.
  const Eigen::VectorXd even = Eigen::VectorXd::LinSpaced(100, -1, 1);
  const Density none = spectral_density(dense_operator(with_spectrum(even, 7)));
  CHECK(none.outliers.empty());
  CHECK(none.outlier_count == 0);
  CHECK(none.bulk_low == Approx(-1).margin(1e-3));
}

TEST_CASE("every known pair may have moved a node, the more the nearer it is") {
  Quadrature one;
  one.nodes = Eigen::Vector2d(0, 4);
  one.weights = Eigen::Vector2d(0.5, 0.5);
  one.residuals = Eigen::Vector2d::Zero();
  KnownEigenvalues known;
  known.values = Eigen::Vector2d(9, 7);
  known.bounds = Eigen::Vector2d(0.3, 0.1);
  const Sample sample({one}, 50, 1e-9, 1, known);
  double expected = sample.slack();
  for (int i = 0; i < 2; ++i) {  // Li and Li's bound; eta: its distance, the pairs' own errors off
    const double r = known.bounds(i), eta = known.values(i) - 4 - 0.4;
    expected += 2 * r * r / (eta + std::sqrt(eta * eta + 4 * r * r));
  }
  CHECK(sample.slack(4) == Approx(expected).epsilon(1e-12));
}
