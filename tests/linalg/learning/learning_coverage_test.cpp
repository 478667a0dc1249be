// SPDX-License-Identifier: Apache-2.0
// Does the stated 95 % interval hold the learning times of the population? Planted spectra, fixed
// seeds; benchmarks/learning/coverage.cpp has the large table.
//
// Were the coverage of a cell exactly the stated 95 %, 30 draws would have more than 6 misses with
// probability 1e-3. From n = 4 d on none may say that it does not know.
#include <string>

#include "kappascope/linalg/learning.h"
#include "support/catch.h"
#include "support/learning_rows.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

#ifdef NDEBUG
constexpr int kDraws = 30;
#else
constexpr int kDraws = 3;  // Eigen's assertions are what a debug build is for, not the statistics
#endif
constexpr Eigen::Index kD = 24, kSequence = 8;

/// Sequences that each have a scale of their own.
RowMatrixD scaled_sequences(Eigen::Index n, std::uint64_t seed) {
  RowMatrixD rows = gaussian_matrix(n, kD, seed);
  const Eigen::MatrixXd scales = gaussian_matrix(n / kSequence, 1, seed + 1);
  for (Eigen::Index i = 0; i < n; ++i) rows.row(i) *= std::exp(0.7 * scales(i / kSequence));
  return rows;
}

void cover(const Eigen::VectorXd& spectrum, Eigen::Index n, bool sequences) {
  const Eigen::VectorXd mu =
      Eigen::VectorXd::Constant(kD, 2 * std::sqrt(spectrum.sum() / static_cast<double>(kD)));
  Eigen::MatrixXd moment = mu * mu.transpose();
  moment.diagonal() += spectrum;
  const Eigen::MatrixXd sigma = spectrum.asDiagonal();
  const double truth = steps_of(sigma, sigma, 0.1), with_mean = steps_of(sigma, moment, 0.1);
  int missed = 0, missed_mean = 0, missed_ratio = 0, silent = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto seed = static_cast<std::uint64_t>(100 + 2 * draw);
    RowMatrixD rows = gaussian_matrix(n, kD, seed);
    if (sequences) rows = scaled_sequences(n, seed);
    rows = rows * spectrum.cwiseSqrt().asDiagonal();
    rows.rowwise() += mu.transpose();
    const auto found = learning(rows, {}, {.rows_per_group = sequences ? kSequence : 1});
    const auto misses = [](const auto& estimate, double value) {
      return estimate.lower > value * (1 + 1e-9) || estimate.upper < value * (1 - 1e-9);
    };
    missed += misses(found.sigma.ninety, truth);
    missed_mean += misses(found.second_moment.ninety, with_mean);
    missed_ratio +=
        !std::isnan(found.mean_costs.value) && misses(found.mean_costs, with_mean / truth);
    silent += found.sigma.ninety.resolution == Resolution::kNotResolvable;
  }
  INFO(n << " rows, " << (sequences ? "sequences" : "independent") << ", κ "
         << spectrum.maxCoeff() / spectrum.minCoeff() << "; silent " << silent);
  CHECK(missed <= 6);
  // Means of sequences that have a scale are those of few: the population's Σ+μμᵀ is not planted.
  if (!sequences) CHECK(missed_mean <= 6);
  if (!sequences) CHECK(missed_ratio <= 6);
  if (n >= 4 * kD && !sequences) CHECK(silent == 0);
}

}  // namespace

TEST_CASE("the interval holds the steps to 90 % of independent rows") {
  for (const double kappa : {1.0, 30.0, 1e4})
    for (const Eigen::Index n : {kD, 2 * kD, 8 * kD})
      cover(geometric_spectrum(kD, kappa), n, false);
}

TEST_CASE("the interval holds the steps to 90 % of sequences that have a scale each") {
  for (const double kappa : {1.0, 30.0, 1e4})
    for (const Eigen::Index n : {4 * kD, 16 * kD}) cover(geometric_spectrum(kD, kappa), n, true);
}
