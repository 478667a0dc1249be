// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/moments.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "tensor/convert.h"

using namespace kappascope;

namespace {

linalg::Moments reference(const at::Tensor& rows,
                          const std::vector<std::uint8_t>& mask = {},
                          int64_t group = 1) {
  linalg::MomentAccumulator accumulator(rows.size(1));
  const auto host = tensor::to_matrix(rows);
  accumulator.update(linalg::RowMatrixD(host), mask, group);
  return accumulator.result();
}

linalg::Moments fast(const at::Tensor& rows, const at::Tensor& mask = {}, int64_t group = 1) {
  tensor::MomentAccumulator accumulator(rows.size(1));
  accumulator.update(rows, mask, group);
  return accumulator.result();
}

std::vector<std::uint8_t> host_mask(const at::Tensor& mask) {
  const auto* at = mask.const_data_ptr<bool>();
  return {at, at + mask.numel()};
}

// Largest |Δc_ij| / √(c_ii c_jj).
double relative_gap(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  const Eigen::VectorXd scale = b.diagonal().cwiseSqrt().cwiseMax(1e-300);
  return ((a - b).array() / (scale * scale.transpose()).array()).abs().maxCoeff();
}

// The documented bound on an entry's error for float rows; the centred rows' own rounding is in it.
constexpr double kFloatBound = (tensor::MomentAccumulator::kBlockRows + 2) * 0x1p-24;

}  // namespace

TEST_CASE("float rows give the host reference's moments within the float bound") {
  torch::manual_seed(1);
  for (const int64_t d : {1, 7, 129, 300}) {
    // A mean a hundred times the deviation: about zero, E[x²] - E[x]² would lose four digits.
    const auto rows = torch::randn({5000, d}) * 0.5 + 50;
    const auto want = reference(rows), got = fast(rows);
    REQUIRE(got.n == want.n);
    CHECK(relative_gap(got.covariance, want.covariance) < kFloatBound);
    CHECK((got.mean - want.mean).cwiseAbs().maxCoeff() < 50 * 0x1p-24);
    CHECK(got.covariance.isApprox(got.covariance.transpose(), 0));
  }
}

TEST_CASE("the float bound is not so wide that a wrong covariance would pass") {
  torch::manual_seed(2);
  const auto rows = torch::randn({5000, 20});
  auto wrong = rows.clone();
  wrong.index({torch::indexing::Slice(0, 50), 3}).mul_(1.1);
  CHECK(relative_gap(fast(wrong).covariance, reference(rows).covariance) > kFloatBound);
}

TEST_CASE("bfloat16 and half rows give the bits of the same rows as float") {
  torch::manual_seed(8);
  auto mask = torch::ones({600}, torch::kBool);
  mask[3] = false;
  for (const auto type : {torch::kBFloat16, torch::kHalf}) {
    for (const int64_t d : {5, 300}) {
      auto rows = (torch::randn({600, d}) * 3 + 5).to(type);
      rows[7][d - 1] = std::numeric_limits<float>::infinity();
      const auto got = fast(rows, mask, 2), want = fast(rows.to(torch::kFloat), mask, 2);
      CHECK(got.covariance == want.covariance);
      CHECK(got.mean == want.mean);
      CHECK(got.sample == want.sample);
      CHECK(got.n == 598);
      CHECK(got.nonfinite_rows == 1);
      CHECK(relative_gap(got.covariance, reference(rows, host_mask(mask), 2).covariance) <
            kFloatBound);
    }
  }
}

TEST_CASE("products that LibTorch may round elsewhere stay in float, and its settings stay") {
  auto& context = at::globalContext();
  torch::manual_seed(9);
  for (const int64_t d : {5, 300}) {
    const auto rows = torch::randn({3000, d});
    const auto want = fast(rows);
    context.setFloat32MatmulPrecision("medium");
    const auto got = fast(rows);
    CHECK(context.float32MatmulPrecision() == at::Float32MatmulPrecision::MEDIUM);
    CHECK(context.userEnabledMkldnn());
    context.setFloat32MatmulPrecision("highest");
    CHECK(got.covariance == want.covariance);
  }
}

TEST_CASE("double rows agree to double rounding") {
  torch::manual_seed(3);
  const auto rows = torch::randn({700, 150}, torch::kDouble) + 1000;
  const auto want = reference(rows), got = fast(rows);
  CHECK(relative_gap(got.covariance, want.covariance) < 700 * 0x1p-52);
}

TEST_CASE("many small updates equal one large one within the bound") {
  torch::manual_seed(4);
  const auto rows = torch::randn({9000, 40});
  tensor::MomentAccumulator pieces(40);
  for (const auto& piece : rows.split(37)) pieces.update(piece);
  CHECK(relative_gap(pieces.result().covariance, reference(rows).covariance) < kFloatBound);
  CHECK(pieces.result().n == 9000);
}

TEST_CASE("rows with NaN or infinity are counted and left out, masked rows are left out silently") {
  torch::manual_seed(5);
  auto rows = torch::randn({12, 3});
  rows[4][1] = std::numeric_limits<float>::quiet_NaN();
  rows[7][0] = std::numeric_limits<float>::infinity();
  auto mask = torch::ones({12}, torch::kBool);
  mask[7] = false;
  mask[9] = false;
  std::vector<std::uint8_t> host_mask(12, 1);
  host_mask[7] = host_mask[9] = 0;
  const auto got = fast(rows, mask), want = reference(rows, host_mask);
  CHECK(got.n == 9);
  CHECK(got.nonfinite_rows == want.nonfinite_rows);
  CHECK(got.nonfinite_rows == 1);
  CHECK(relative_gap(got.covariance, want.covariance) < kFloatBound);
}

TEST_CASE("dependent rows of one sequence lower the effective number as in the reference") {
  torch::manual_seed(6);
  // Every sequence of 8 tokens shares an offset: the rows say less than their number.
  const auto rows =
      (torch::randn({200, 1, 5}) + 0.3 * torch::randn({200, 8, 5})).reshape({1600, 5});
  const auto got = fast(rows, {}, 8), want = reference(rows, {}, 8);
  CHECK(got.n_effective == Approx(want.n_effective).epsilon(1e-4));
  CHECK(got.n_effective < 400);
  CHECK(fast(rows).n_effective == 1600);
  CHECK(got.fourth.features.isApprox(want.fourth.features, 1e-5));
  CHECK(got.fourth.length == Approx(want.fourth.length).epsilon(1e-5));
}

TEST_CASE("a constant feature has variance exactly zero") {
  auto rows = torch::randn({100, 4});
  rows.select(1, 2).fill_(0.1f);
  CHECK(fast(rows).covariance(2, 2) == 0);
  CHECK(fast(rows).mean[2] == static_cast<double>(0.1f));
}

TEST_CASE("no rows, one row, and rows of the wrong width") {
  tensor::MomentAccumulator accumulator(3);
  CHECK(accumulator.result().n == 0);
  accumulator.update(torch::randn({1, 3}));
  CHECK(accumulator.result().n == 1);
  CHECK(accumulator.result().covariance.norm() == 0);
  CHECK_THROWS_AS(accumulator.update(torch::randn({2, 4})), Error);
  CHECK_THROWS_AS(accumulator.update(torch::randn({5, 3}), {}, 2), Error);
}

TEST_CASE("parts of a stream merge to the whole, whatever each took for its shift") {
  torch::manual_seed(12);
  for (const int64_t group : {1, 10}) {
    const auto rows =
        torch::randn({900, 40}, torch::kDouble) + torch::linspace(0, 30, 900).view({-1, 1});
    const auto want = fast(rows, {}, group);
    tensor::MomentAccumulator sum(40);
    for (const auto& part : rows.split({300, 0, 500, 100})) {
      tensor::MomentAccumulator one(40);
      one.update(part, {}, group);
      sum.merge(one);
    }
    const auto got = sum.result();
    CHECK(got.n == want.n);
    CHECK(got.n_effective == Approx(want.n_effective).epsilon(1e-12));
    CHECK((got.mean - want.mean).cwiseAbs().maxCoeff() < 1e-13 * 30);
    CHECK(relative_gap(got.covariance, want.covariance) < 900 * 0x1p-53);
    CHECK(got.fourth.length == Approx(want.fourth.length).epsilon(1e-11));
    CHECK((got.fourth.features - want.fourth.features).norm() <
          1e-11 * want.fourth.features.norm());
    CHECK((got.fourth.length_third - want.fourth.length_third).norm() <
          1e-11 * std::pow(want.fourth.length, 0.75));
    CHECK(got.sample.rows() == want.sample.rows());
  }
}

TEST_CASE("moments of rows that all were left out merge, and those of another kind do not") {
  const auto good = torch::randn({20, 3});
  tensor::MomentAccumulator bad(3), sum(3), sequences(3), doubles(3), wide(4);
  bad.update(good * std::numeric_limits<double>::infinity());
  sum.update(good);
  const auto want = sum.result();
  sum.merge(bad);
  CHECK(sum.result().nonfinite_rows == 20);
  CHECK(sum.result().covariance == want.covariance);
  bad.merge(sum);
  CHECK(bad.result().nonfinite_rows == 40);
  CHECK(bad.result().covariance == want.covariance);
  sequences.update(good, {}, 5);
  CHECK_THROWS_WITH(sum.merge(sequences), Catch::Contains("sequences"));
  doubles.update(good.to(torch::kDouble));
  CHECK_THROWS_WITH(sum.merge(doubles), Catch::Contains("double"));
  CHECK_THROWS_WITH(sum.merge(wide), Catch::Contains("width 4"));
}

TEST_CASE("a saved accumulator continues to the last bit") {
  torch::manual_seed(7);
  const auto rows = torch::randn({3000, 33});
  tensor::MomentAccumulator whole(33), first(33);
  whole.update(rows.narrow(0, 0, 1500));
  first.update(rows.narrow(0, 0, 1500));
  const auto state = first.state();
  tensor::MomentAccumulator second(33);
  second.load(state);
  first.update(rows.narrow(0, 0, 40));  // the sums are not shared
  whole.update(rows.narrow(0, 1500, 1500));
  second.update(rows.narrow(0, 1500, 1500));
  CHECK(whole.result().covariance == second.result().covariance);
  CHECK(whole.result().sample == second.result().sample);
  CHECK(whole.result().fourth.length == second.result().fourth.length);
  CHECK(whole.result().fourth.features == second.result().fourth.features);
}

TEST_CASE("a state that is not one of these moments is refused by name") {
  torch::manual_seed(8);
  tensor::MomentAccumulator accumulator(5);
  accumulator.update(torch::randn({20, 5}), {}, 4);
  const auto good = accumulator.state();
  const auto load = [](const tensor::State& state) { tensor::MomentAccumulator(5).load(state); };
  REQUIRE_NOTHROW(load(good));
  CHECK_THROWS_WITH(tensor::MomentAccumulator(6).load(good), Catch::Contains("'sum'"));
  CHECK_THROWS_WITH(load({}), Catch::Contains("has no"));
  const auto with = [&](const char* name, const auto& value) {
    auto state = good;
    state.set(name, value);
    return state;
  };
  CHECK_THROWS_WITH(load(with("cross", torch::zeros(7, torch::kDouble))),
                    Catch::Contains("'cross'"));
  CHECK_THROWS_WITH(load(with("block", torch::zeros(7))), Catch::Contains("'block'"));
  CHECK_THROWS_WITH(load(with("shift", torch::zeros(5, torch::kLong))), Catch::Contains("'shift'"));
  CHECK_THROWS_WITH(load(with("block_rows", std::int64_t{1} << 40)), Catch::Contains("in a block"));
  CHECK_THROWS_WITH(load(with("rows", std::int64_t{-1})), Catch::Contains("-1 rows"));
  CHECK_THROWS_WITH(load(with("sample/rows", torch::zeros({3, 5}))), Catch::Contains("sample"));
  CHECK_THROWS_WITH(load(with("sample/capacity", std::int64_t{-4})), Catch::Contains("sample"));
}
