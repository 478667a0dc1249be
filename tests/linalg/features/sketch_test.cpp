// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/sketch.h"

#include <cmath>
#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

/// Of memory for that many directions of d.
SketchOptions memory_for(Eigen::Index directions, Eigen::Index d) {
  return {.memory_bytes = 2 * 8 * directions * (3 * d + 12 * directions) + 8};
}

RowMatrixD drawn(Eigen::Index n, const Eigen::VectorXd& spectrum, std::uint64_t seed) {
  const Eigen::Index d = spectrum.size();
  const RowMatrixD rows =
      gaussian_matrix(n, d, seed) * with_spectrum(spectrum.cwiseSqrt(), seed + 1);
  return rows.rowwise() + 2 * gaussian_matrix(d, 1, seed + 2).col(0).transpose();
}

Eigen::VectorXd spiked(Eigen::Index d) {
  Eigen::VectorXd spectrum = geometric_spectrum(d, 20) / 10;
  spectrum(d - 1) = 30;
  spectrum(d - 2) = 12;
  return spectrum;
}

void check_bounds(const SketchedKappa& sketched, const KappaEstimate& exact) {
  CAPTURE(sketched.lambda_max_lower, exact.lambda_max, sketched.lambda_max_upper);
  const double rounding = 1e-12 * exact.lambda_max;
  CHECK(sketched.lambda_max_lower <= exact.lambda_max + rounding);
  CHECK(sketched.lambda_max_upper >= exact.lambda_max - rounding);
  CHECK(sketched.lambda_min_upper >= exact.lambda_min - rounding);
  CHECK(sketched.lower <= exact.value * (1 + 1e-9));
  CHECK(sketched.lower > 1);
}

}  // namespace

TEST_CASE("the bounds hold for every matrix, block size and memory") {
  const Eigen::Index d = 60;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const Eigen::Index directions : {4, 12, 40}) {
      CAPTURE(seed, directions);
      const RowMatrixD rows = drawn(700, spiked(d), 3 * seed);
      const Eigen::VectorXd bias = gaussian_matrix(d, 1, 50 + seed);
      MomentAccumulator all(d);
      all.update(rows);
      const Conditioning exact = conditioning(all.result(), bias);
      SketchOptions options = memory_for(directions, d);
      options.seed = seed;
      MomentSketch sketch(d, options);
      const Eigen::Index first = 1 + static_cast<Eigen::Index>(seed) * 30;
      sketch.update(rows.topRows(first));
      sketch.update(rows.bottomRows(700 - first));
      CHECK(sketch.memory_bytes() <= options.memory_bytes);
      const SketchedConditioning found = sketch.result(bias);
      CHECK(found.n == 700);
      CHECK(found.directions == directions);
      CHECK(found.trace == Approx(all.result().covariance.trace()).epsilon(1e-10));
      check_bounds(found.sigma, exact.sigma);
      check_bounds(found.second_moment, exact.second_moment);
      check_bounds(found.with_bias, exact.with_bias);
    }
  }
}

TEST_CASE("more memory makes the interval of the top narrower, and enough makes it exact") {
  const Eigen::Index d = 60;
  const RowMatrixD rows = drawn(2000, spiked(d), 100);
  double before = std::numeric_limits<double>::infinity();
  for (const Eigen::Index directions : {4, 10, 30, 60}) {
    CAPTURE(directions);
    MomentSketch sketch(d, memory_for(directions, d));
    sketch.update(rows);
    const SketchedKappa sigma = sketch.result().sigma;
    const double width = (sigma.lambda_max_upper - sigma.lambda_max_lower) / sigma.lambda_max_upper;
    CHECK(width < before);
    before = width;
  }
  // As many directions as features lose nothing but the residual of the eigenvalue.
  CHECK(before < 1e-5);
  MomentSketch whole(d, {.memory_bytes = 10'000'000});
  whole.update(rows);
  MomentAccumulator all(d);
  all.update(rows);
  const KappaEstimate exact = conditioning(all.result(), {}).sigma;
  CHECK(std::ssize(whole.result().channels) == d);
  CHECK(whole.result().sigma.of_channels.value == Approx(exact.value).epsilon(1e-9));
  CHECK(whole.result().sigma.lower == Approx(exact.value).epsilon(1e-5));
}

TEST_CASE("the population's lower bound holds in 200 data sets, and a sharper one would not") {
  // One end of a 95 % interval: 97.5 % nominal, for the chosen channels, whose kappa is at most the
  // whole's. At exactly that, more than 13 failures of 200 would come with a probability of 5e-4.
  constexpr int kSeeds = 200;
  const Eigen::Index d = 24;
  int failures = 0, of_sample = 0, of_channels = 0;
  double mean = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RowMatrixD rows = 2 * gaussian_matrix(60, d, 1000 + seed);
    SketchOptions options{.memory_bytes = 2 * 8 * 8 * 12 * 12 + 8, .seed = seed};
    MomentSketch sketch(d, options);
    sketch.update(rows);
    const SketchedConditioning found = sketch.result();
    REQUIRE(std::ssize(found.channels) >= 8);
    REQUIRE(std::ssize(found.channels) < d);
    failures += found.sigma.population_lower > 1 + 1e-12;
    of_channels += found.sigma.of_channels.value > 1 + 1e-12;
    of_sample += found.sigma.lower > 1 + 1e-12;
    mean += found.sigma.of_channels.value / kSeeds;
  }
  CAPTURE(failures, of_sample, of_channels, mean);
  CHECK(failures <= 13);
  CHECK(of_channels > 13);
  CHECK(of_sample > 13);
}

TEST_CASE("dead units, constants and rows that are not finite are counted exactly") {
  RowMatrixD rows = gaussian_matrix(300, 20, 7);
  rows.col(3).setZero();
  rows.col(9).setConstant(0.1);
  rows(5, 2) = std::numeric_limits<double>::quiet_NaN();
  MomentSketch sketch(20, {.memory_bytes = 1'000'000});
  sketch.update(rows);
  const SketchedConditioning found = sketch.result();
  CHECK(found.n == 299);
  CHECK(found.nonfinite_rows == 1);
  CHECK(found.constant_features == 2);
  CHECK(found.dead_features == 1);
  CHECK(std::isinf(found.sigma.lower));
  CHECK(found.sigma.of_channels.null_dimension == 2);
}

TEST_CASE("no rows say nothing, and what does not fit is refused") {
  const SketchOptions options = memory_for(4, 20);
  const MomentSketch empty(20, options);
  CHECK(empty.result().n == 0);
  CHECK(empty.result().sigma.lower == 1);
  CHECK(std::isinf(empty.result().sigma.lambda_max_upper));
  CHECK_THROWS_AS(MomentSketch(20, {.memory_bytes = 1000}), kappascope::Error);
  MomentSketch sketch(20, options);
  CHECK_THROWS_AS(sketch.update(RowMatrixD::Ones(3, 19)), kappascope::Error);
  CHECK_THROWS_AS(sketch.result(Eigen::VectorXd::Ones(19)), kappascope::Error);
}
