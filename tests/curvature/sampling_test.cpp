// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/sampling.h"

#include <torch/types.h>

#include <cmath>
#include <limits>

#include "curvature/linear_rows.h"
#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;

namespace {

const std::vector<double> kSpectrum = {4, 2, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5};

curvature::BatchesOptions batches_of(int batches, int64_t rows, int top = 2) {
  curvature::BatchesOptions options;
  options.batches = batches;
  options.rows = rows;
  options.lanczos.top = top;
  options.lanczos.tolerance = 1e-8;
  return options;
}

}  // namespace

TEST_CASE("the bias of batches is found and taken out: coverage over 200 data sets") {
  // 95 % nominal. Were the coverage exactly that, fewer than 180 of 200 would come with a
  // probability of 1.3e-3.
  constexpr int kSeeds = 200;
  const auto options = batches_of(16, 60);
  int corrected = 0, uncorrected = 0, half = 0;
  double bias = 0, seen = 0, square = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto x = drawn_rows(16 * 60, kSpectrum, Tails::kGaussian, 100 + seed);
    const auto found = curvature::sampled_eigenvalues(operator_of(x), x.size(0), options);
    REQUIRE(found.status == linalg::KrylovStatus::kConverged);
    corrected += found.corrected.lower(0) <= 4 && 4 <= found.corrected.upper(0);
    uncorrected += found.batch.lower(0) <= 4 && 4 <= found.batch.upper(0);
    half += std::abs(found.corrected.value(0) - 4) <=
            0.25 * (found.corrected.upper(0) - found.corrected.lower(0));
    bias += found.bias.value(0) / kSeeds;
    square += std::pow(found.bias.value(0), 2) / kSeeds;
    seen += (found.batch.value(0) - 4) / kSeeds;
  }
  CAPTURE(corrected, uncorrected, half, bias, seen);
  CHECK(corrected >= 180);
  CHECK(uncorrected < 180);
  CHECK(half < 180);
  // The mean excess over 4 is the bias itself; second-order perturbation gives about
  // Σ_j λ_1 λ_j/(λ_1 - λ_j)/n = 0.13. Its estimate is right to four standard errors and O(1/n²).
  CHECK(seen > 0.08);
  CHECK(bias == Approx(seen).margin(4 * std::sqrt((square - bias * bias) / kSeeds) + 0.02));
}

TEST_CASE("batches are disjoint, matched by rank, and their cost is counted") {
  const auto x = drawn_rows(800, kSpectrum, Tails::kGaussian, 1);
  std::vector<at::Tensor> asked;
  const auto op = operator_of(x, asked);
  const auto found = curvature::sampled_eigenvalues(op, 800, batches_of(4, 200, 3));
  REQUIRE(asked.size() == 6);
  CHECK(torch::equal(torch::cat({asked[0], asked[1]}), asked[2]));
  CHECK(torch::equal(std::get<0>(torch::cat({asked[2], asked[5]}).sort()), torch::arange(800)));
  REQUIRE(found.values.rows() == 4);
  REQUIRE(found.values.cols() == 3);
  for (int b = 0; b < 4; ++b) {
    const auto rows = asked[static_cast<size_t>(b + b / 2)];
    const auto batch = x.index_select(0, rows);
    const auto truth = torch::linalg_eigvalsh(batch.t().mm(batch) / 200);
    for (int i = 0; i < 3; ++i)
      CHECK(found.values(b, i) == Approx(truth[9 - i].item<double>()).epsilon(1e-10));
  }
  CHECK(found.overlap(0, 0) > 0.9);
  CHECK(found.overlap.maxCoeff() <= 1 + 1e-12);
  CHECK(found.rows == 800);
  CHECK(found.batch.value(1) == Approx(found.values.col(1).mean()).epsilon(1e-14));
  // Student's interval of four values: their standard deviation (n - 1) over 2, 3.18245 times.
  const Eigen::ArrayXd second = found.values.col(1).array() - found.batch.value(1);
  const double error = std::sqrt(second.square().sum() / 3) / 2;
  CHECK(found.batch.standard_error(1) == Approx(error).epsilon(1e-12));
  CHECK(found.batch.upper(1) - found.batch.value(1) == Approx(3.182446 * error).epsilon(1e-3));
  // Every row is in one graph of its batch and in one of a union.
  CHECK(found.passes > 2 + 2.0 * found.products / 4);
  CHECK(found.products > 6 * 3);
}

TEST_CASE("a batch with NaN gives no numbers, and batches that do not fit are refused") {
  auto x = drawn_rows(80, kSpectrum, Tails::kGaussian, 2);
  x[17][3] = std::numeric_limits<double>::quiet_NaN();
  const auto found = curvature::sampled_eigenvalues(operator_of(x), 80, batches_of(4, 20));
  CHECK(found.status == linalg::KrylovStatus::kNonFinite);
  CHECK(found.values.size() == 0);
  CHECK(found.corrected.value.size() == 0);
  CHECK(found.products > 0);
  CHECK_THROWS_AS(curvature::sampled_eigenvalues(operator_of(x), 79, batches_of(4, 20)), Error);
  CHECK_THROWS_AS(curvature::sampled_eigenvalues(operator_of(x), 80, batches_of(5, 10)), Error);
}
