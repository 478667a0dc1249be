// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/paired_ratio.h"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "kappascope/core/statistics.h"
#include "kappascope/linalg/random.h"
#include "support/catch.h"

using namespace kappascope;
using linalg::RowMatrixD;

namespace {

constexpr Eigen::Index kWidth = 6, kRows = 400;

double kappa_of(const Eigen::MatrixXd& matrix) {
  const Eigen::VectorXd values =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix, Eigen::EigenvaluesOnly).eigenvalues();
  return values.tail<1>()(0) / values(0);
}

/// Σ with eigenvalues 0.2 to 3 and correlated features, and a mean that costs a factor.
struct Population {
  Eigen::MatrixXd root, sigma;
  Eigen::VectorXd mean, bias;

  Population() {
    linalg::Random random(3);
    Eigen::MatrixXd mix(kWidth, kWidth);
    for (Eigen::Index i = 0; i < kWidth; ++i) mix.col(i) = random.normal_vector(kWidth);
    const Eigen::MatrixXd q = Eigen::HouseholderQR<Eigen::MatrixXd>(mix).householderQ();
    const Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(kWidth, 0.2, 3);
    root = q * values.cwiseSqrt().asDiagonal();
    sigma = root * root.transpose();
    mean = Eigen::VectorXd::Constant(kWidth, 1.2);
    bias = -0.6 * mean;
  }
  [[nodiscard]] double ratio_at(const Eigen::VectorXd& b) const {
    const Eigen::VectorXd v = mean + b;
    return kappa_of(sigma + v * v.transpose()) / kappa_of(sigma);
  }
  /// Gaussian, or with `heavy` one row in five of three times the length.
  [[nodiscard]] RowMatrixD rows(std::uint64_t seed, bool heavy) const {
    linalg::Random random(seed);
    RowMatrixD rows(kRows, kWidth);
    const double unit = heavy ? 1 / std::sqrt(0.8 + 0.2 * 9) : 1;
    for (Eigen::Index i = 0; i < kRows; ++i) {
      const double length = unit * (heavy && random.below(5) == 0 ? 3 : 1);
      rows.row(i) = mean + length * (root * random.normal_vector(kWidth));
    }
    return rows;
  }
};

}  // namespace

TEST_CASE("the paired interval of a quotient holds the truth as often as it says") {
  // Of 300 intervals of 95 %, 285 are to hold it, with a standard deviation of 3.8: fewer than 266
  // come once in 10^5 such tests. First order leaves a few hundredths at 400 rows.
  constexpr int kRepeats = 300, kFewest = 266;
  const Population truth;
  const double costs = truth.ratio_at(Eigen::VectorXd::Zero(kWidth));
  const double leaves = truth.ratio_at(truth.bias);
  REQUIRE(costs > 2);
  for (const bool heavy : {false, true}) {
    CAPTURE(heavy);
    int held = 0, held_with_bias = 0, narrower = 0;
    for (int i = 0; i < kRepeats; ++i) {
      const auto found =
          linalg::kappa(truth.rows(100 + static_cast<std::uint64_t>(i), heavy), truth.bias);
      const auto holds = [](const linalg::PairedRatio& ratio, double value) {
        return ratio.lower <= value && value <= ratio.upper ? 1 : 0;
      };
      held += holds(found.mean_costs, costs);
      held_with_bias += holds(found.bias_leaves, leaves);
      const double apart = found.second_moment.upper / found.sigma.lower /
                           (found.second_moment.lower / found.sigma.upper);
      narrower += found.mean_costs.upper / found.mean_costs.lower < std::sqrt(apart) ? 1 : 0;
    }
    CHECK(held >= kFewest);
    CHECK(held_with_bias >= kFewest);
    CHECK(narrower == kRepeats);
  }
}

TEST_CASE("the quotient is that of the two estimates, by both routes") {
  const Population truth;
  const auto rows = truth.rows(7, false);
  linalg::KappaOptions options;
  const auto whole = linalg::kappa(rows, truth.bias, options);
  CHECK(whole.mean_costs.value ==
        Approx(whole.second_moment.value / whole.sigma.value).epsilon(1e-12));
  CHECK(whole.bias_leaves.value ==
        Approx(whole.with_bias.value / whole.sigma.value).epsilon(1e-12));
  options.factorise_from = 1;
  const auto wide = linalg::kappa(rows, truth.bias, options);
  CHECK(wide.mean_costs.value == Approx(whole.mean_costs.value).epsilon(1e-6));
  CHECK(wide.mean_costs.lower == Approx(whole.mean_costs.lower).epsilon(1e-3));
  CHECK(wide.bias_leaves.upper == Approx(whole.bias_leaves.upper).epsilon(1e-3));
}

TEST_CASE("without kept rows there is a quotient and no interval, without an end neither") {
  const Population truth;
  auto rows = truth.rows(8, false);
  linalg::KappaOptions options;
  options.moments.sample_rows = 0;
  const auto bare = linalg::kappa(rows, {}, options);
  CHECK(std::isfinite(bare.mean_costs.value));
  CHECK(std::isnan(bare.mean_costs.lower));
  CHECK(bare.bias_leaves.value == bare.mean_costs.value);
  rows.col(2).setZero();
  CHECK(std::isnan(linalg::kappa(rows).mean_costs.value));
}

TEST_CASE("the interval is that of a mean of what each row adds to the logarithm") {
  constexpr double kEffective = 9;
  linalg::Moments moments;
  moments.sample.resize(12, 2);
  linalg::Random random(5);
  for (Eigen::Index i = 0; i < 12; ++i)
    moments.sample.row(i) = random.normal_vector(2).transpose().cast<float>();
  moments.n_effective = kEffective;
  const Eigen::VectorXd c = Eigen::Vector2d(0.1, -0.2), e = Eigen::Vector2d(0.3, 0.4);
  const Eigen::VectorXd x = Eigen::Vector2d(1, 0), y = Eigen::Vector2d(0, 1);
  const linalg::MatrixEnds above{c, 8, 2, x, y}, below{e, 3, 1, y, x};
  const auto found = linalg::paired_ratio(moments, above, below, 0.95);
  CHECK(found.value == Approx((8.0 / 2) / (3.0 / 1)));

  double sum = 0, squares = 0;
  for (Eigen::Index i = 0; i < 12; ++i) {
    const double a = moments.sample(i, 0), b = moments.sample(i, 1);
    const double h = std::pow(a - 0.1, 2) / 8 - std::pow(b + 0.2, 2) / 2 -
                     std::pow(b - 0.4, 2) / 3 + std::pow(a - 0.3, 2) / 1;
    sum += h;
    squares += h * h;
  }
  const double variance = (squares - sum * sum / 12) / 11;
  const double reach = student_quantile(0.975, kEffective - 1) * std::sqrt(variance / kEffective);
  CHECK(found.lower == Approx(found.value * std::exp(-reach)).epsilon(1e-9));
  CHECK(found.upper == Approx(found.value * std::exp(reach)).epsilon(1e-9));
}

TEST_CASE("of one feature the quotient is 1, whatever the mean") {
  linalg::Moments moments;
  moments.sample = linalg::RowMatrixF::Random(10, 1);
  moments.n_effective = 10;
  const Eigen::VectorXd mean = Eigen::VectorXd::Constant(1, 0.4), zero = Eigen::VectorXd::Zero(1);
  const Eigen::VectorXd one = Eigen::VectorXd::Ones(1);
  const auto found =
      linalg::paired_ratio(moments, {zero, 2, 2, one, one}, {mean, 1, 1, one, one}, 0.95);
  CHECK(found.value == 1);
  CHECK(found.lower == 1);
  CHECK(found.upper == 1);
}
