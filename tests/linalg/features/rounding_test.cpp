// SPDX-License-Identifier: Apache-2.0
// Rows that were rounded before they were measured: is what is said true of the rows before?
//
// Planted covariances with κ from 1e2 to 1e14; rows in double, float, half and bfloat16; means up
// to a thousand standard deviations; one or many small directions, and columns of different scale.
// The 95 % intervals of independent draws miss in more than the stated number with probability
// below 1e-4, were each of them exact. A lower end alone is never above the truth.
#include "linalg/features/rounding.h"

#include <cmath>
#include <string>

#include "kappascope/linalg/features/kappa.h"
#include "linalg/features/conditioning.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

struct Type {
  const char* name;
  int digits, least_exponent;  ///< of the significand; of the smallest normal number
};
constexpr Type kTypes[] = {
    {"double", 53, -1022}, {"float", 24, -126}, {"half", 11, -14}, {"bfloat16", 8, -126}};

double rounded(double x, const Type& type) {
  if (x == 0) return 0;
  const int exponent = std::max(std::ilogb(x), type.least_exponent) - type.digits + 1;
  return std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
}

RowPrecision precision_of(const Type& type) {
  return {.unit = std::ldexp(1.0, -type.digits),
          .least = std::ldexp(1.0, type.least_exponent - type.digits)};
}

enum class Shape { kGeometric, kOneSmall, kHalfSmall, kColumns };
constexpr Shape kShapes[] = {
    Shape::kGeometric, Shape::kOneSmall, Shape::kHalfSmall, Shape::kColumns};

/// Symmetric root of a covariance with ends 1 and 1/κ.
Eigen::MatrixXd root_of(Shape shape, Eigen::Index d, double kappa, std::uint64_t seed) {
  Eigen::VectorXd root = geometric_spectrum(d, std::sqrt(kappa)) / std::sqrt(kappa);
  if (shape == Shape::kOneSmall) root.tail(d - 1).setOnes();
  if (shape == Shape::kHalfSmall) root.head(d / 2).setConstant(root(0));
  if (shape == Shape::kColumns) return root.asDiagonal();
  return with_spectrum(root, seed);
}

struct Tally {
  int draws = 0, stated = 0, misses = 0, false_bounds = 0;
  std::string first;
};

void draw(
    const Type& type, Shape shape, Eigen::Index d, double kappa_true, double mean, Tally& tally) {
  const auto seed = static_cast<std::uint64_t>(++tally.draws);
  RowMatrixD rows = gaussian_matrix(20 * d, d, seed) * root_of(shape, d, kappa_true, seed);
  // As large beside each column's spread as beside the largest.
  const Eigen::RowVectorXd spread = (rows.array().square().colwise().mean()).sqrt().matrix();
  rows.rowwise() += mean * spread;
  rows = rows.unaryExpr([&](double x) { return rounded(x, type); });
  KappaOptions options;
  options.moments.precision = precision_of(type);
  const KappaEstimate found = kappa(rows, {}, options).sigma;
  const bool stated =
      found.resolution == Resolution::kResolved || found.resolution == Resolution::kBiased;
  tally.stated += stated ? 1 : 0;
  const bool below = found.upper >= kappa_true, above = found.lower <= kappa_true * (1 + 1e-9);
  if (stated && !(below && above)) ++tally.misses;
  if (!stated && !above) ++tally.false_bounds;
  if (tally.first.empty() && !(below && above)) {
    tally.first = std::string(type.name) + ", d " + std::to_string(d) + ", shape " +
                  std::to_string(static_cast<int>(shape)) + ", mean " + std::to_string(mean) +
                  ", kappa " + std::to_string(kappa_true) + ": " + std::to_string(found.value) +
                  " in [" + std::to_string(found.lower) + ", " + std::to_string(found.upper) +
                  "], " + to_string(found.resolution) + " " + found.reason;
  }
}

}  // namespace

TEST_CASE("what is said of rounded rows is true of the rows before they were rounded") {
  for (const Type& type : kTypes) {
    Tally tally;
    for (const Eigen::Index d : {4, 16, 64}) {
      for (const Shape shape : kShapes) {
        for (int exponent = 2; exponent <= 14; exponent += 2) {
          for (const double mean : {0.0, 30.0, 1000.0})
            draw(type, shape, d, std::pow(10.0, exponent), mean, tally);
        }
      }
    }
    CAPTURE(type.name, tally.draws, tally.stated, tally.first);
    const double expected = 0.05 * tally.stated;
    CHECK(tally.misses <= expected + 4 * std::sqrt(expected));
    CHECK(tally.false_bounds == 0);
  }
}

TEST_CASE("the interval holds where rounding adds a share of the smallest eigenvalue") {
  // So many rows that sampling moves the smallest eigenvalue by 1 %, and rounding by up to 20 %.
  constexpr Eigen::Index kWidth = 4, kCount = 40'000;
  int draws = 0, stated = 0, misses = 0;
  for (const Type& type : {kTypes[1], kTypes[3]}) {
    for (const double mean : {0.0, 33.0}) {
      for (const double share : {1.5, 2.0, 3.0, 5.0, 10.0}) {
        const auto seed = static_cast<std::uint64_t>(++draws);
        const double hidden = std::ldexp(1.0, -2 * type.digits) * (1 + mean * mean);
        const double smallest = share * hidden;
        Eigen::Vector4d root(1, 1, 1, std::sqrt(smallest));
        RowMatrixD rows = gaussian_matrix(kCount, kWidth, seed) * with_spectrum(root, seed);
        rows.array() += mean;
        rows = rows.unaryExpr([&](double x) { return rounded(x, type); });
        KappaOptions options;
        options.moments.precision = precision_of(type);
        const KappaEstimate found = kappa(rows, {}, options).sigma;
        CAPTURE(type.name, mean, share, found.value * smallest);
        if (found.null_dimension > 0) {
          CHECK(found.lower * smallest <= 1 + 1e-9);
          continue;
        }
        ++stated;
        misses += found.upper * smallest >= 1 && found.lower * smallest <= 1 ? 0 : 1;
      }
    }
  }
  CHECK(stated >= 16);
  CHECK(misses <= 4);  // of 20 at 5 %: more with probability 0.003, were the intervals exact
}

TEST_CASE("rounding that does no harm takes nothing away") {
  // κ 1e4 of float rows, and columns of scales from 1 to 1e-6 in bfloat16, each with all its
  // digits.
  Tally tally;
  draw(kTypes[1], Shape::kGeometric, 64, 1e4, 0, tally);
  draw(kTypes[3], Shape::kColumns, 16, 1e12, 0, tally);
  CHECK(tally.stated == 2);
  CHECK(tally.misses == 0);
}

TEST_CASE("features that vary by less than their rounding are not said to be dependent") {
  // Around 1,000 bfloat16 has steps of 4.
  RowMatrixD rows = gaussian_matrix(500, 3, 1).array() + 1001.9;
  rows = rows.unaryExpr([](double x) { return rounded(x, kTypes[3]); });
  KappaOptions options;
  options.moments.precision = precision_of(kTypes[3]);
  const Conditioning found = kappa(rows, {}, options);
  CHECK(found.sigma.resolution == Resolution::kNotResolvable);
  CHECK_THAT(found.sigma.reason, Catch::Contains("rounding"));
  CHECK(found.sigma.lower == 1);
}

TEST_CASE("a constant feature stays degenerate among coarse rows") {
  RowMatrixD rows = gaussian_matrix(500, 3, 2);
  rows.col(1).setZero();
  rows = rows.unaryExpr([](double x) { return rounded(x, kTypes[3]); });
  KappaOptions options;
  options.moments.precision = precision_of(kTypes[3]);
  const Conditioning found = kappa(rows, {}, options);
  for (const auto* one : {&found.sigma, &found.second_moment, &found.second_moment_scaled})
    CHECK(one->resolution == Resolution::kDegenerate);
}

TEST_CASE("sums in float alone hide small directions too") {
  // Nothing of the rows is rounded.
  KappaFacts facts;
  facts.dimension = 3;
  facts.n = 4000;
  facts.n_effective = 4000;
  facts.lambda_max = 1;
  facts.smallest_positive = 0.5;
  facts.null_dimension = 1;
  facts.solver_rounding = 1e-15;
  facts.trace = 1.5;
  facts.frobenius_squared = 1.25;
  facts.fourth = 5;
  CHECK(kappa_estimate(facts, {}, 0.95).resolution == Resolution::kDegenerate);
  facts.at_top.sums = 1e-7;
  CHECK(kappa_estimate(facts, {}, 0.95).resolution == Resolution::kNotResolvable);
}

TEST_CASE("sums in float say what they hide, and merged sums what the coarsest hides") {
  MomentSums fine(2), coarse(2);
  for (auto* sums : {&fine, &coarse}) {
    sums->n = 8192;
    sums->cross = 8192 * Eigen::Vector2d(1, 4).asDiagonal();
    sums->rows_are_groups();
  }
  coarse.precision = {.unit = 0x1p-24, .least = 0, .float_block = 4096};
  CHECK(moments_from(fine).sum_rounding.isZero(0));
  const double entry = 0x1p-24 * 4096 / (3 * std::sqrt(8192.0));
  const Eigen::Vector2d expected = 2 * (std::sqrt(2.0) + 1) * entry * Eigen::Vector2d(1, 4);
  CHECK(moments_from(coarse).sum_rounding.isApprox(expected, 1e-12));
  // The rows' rounding and that of their difference to the shift.
  CHECK(moments_from(coarse).row_rounding.isApprox(2 * 0x1p-48 * Eigen::Vector2d(1, 4), 1e-12));
  CHECK(kappa(moments_from(fine), {}).sum_rounding == 0);
  // The error of the largest variance, as a share of the smallest.
  CHECK(kappa(moments_from(coarse), {}).sum_rounding == Approx(expected(1) / 1));
  fine.merge(coarse);
  CHECK(fine.precision.unit == 0x1p-24);
  CHECK(fine.precision.float_block == 4096);
}
