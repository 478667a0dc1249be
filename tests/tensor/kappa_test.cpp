// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/kappa.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "device.h"
#include "kappascope/core/error.h"
#include "support/catch.h"
#include "tensor/convert.h"

using namespace kappascope;

namespace {

linalg::RowMatrixD host(const at::Tensor& rows) {
  return tensor::to_matrix(rows);
}

void check_same(const linalg::KappaEstimate& a, const linalg::KappaEstimate& b, double epsilon) {
  CHECK(a.value == Approx(b.value).epsilon(epsilon));
  CHECK(a.lower == Approx(b.lower).epsilon(epsilon));
  CHECK(a.upper == Approx(b.upper).epsilon(epsilon));
  CHECK(a.resolution == b.resolution);
}

}  // namespace

TEST_CASE("kappa of a tensor is that of its matrix, by either route") {
  torch::manual_seed(1);
  const auto rows = torch::randn({500, 7}, torch::kDouble) * torch::linspace(1, 4, 7) + 1;
  const auto bias = torch::randn({7}, torch::kDouble);
  for (const Eigen::Index factorise_from : {-1, 1}) {
    linalg::KappaOptions options;
    options.factorise_from = factorise_from;
    const auto found = tensor::kappa(rows, bias, options);
    const auto expected = linalg::kappa(host(rows), tensor::to_vector(bias), options);
    check_same(found.sigma, expected.sigma, 1e-8);
    check_same(found.with_bias, expected.with_bias, 1e-8);
    check_same(found.second_moment_scaled, expected.second_moment_scaled, 1e-8);
    CHECK((found.route == linalg::Route::kFactorisation) == (factorise_from == 1));
    CHECK(found.rows == 500);
  }
}

TEST_CASE("features of any number type keep their kappa where squares would vanish or overflow") {
  torch::manual_seed(7);
  const auto rows = (torch::randn({500, 5}, torch::kDouble) + 1) * torch::linspace(1, 4, 5);
  const auto bias = torch::randn({5}, torch::kDouble);
  for (const auto& [type, exponent, epsilon] : {std::tuple(torch::kDouble, -565, 1e-12),
                                                {torch::kDouble, 600, 1e-12},
                                                {torch::kFloat, -90, 1e-5},
                                                {torch::kFloat, 100, 1e-5},
                                                // Rounding is in the interval.
                                                {torch::kBFloat16, -90, 0.15}}) {
    CAPTURE(exponent);
    const double scale = std::ldexp(1.0, exponent);
    const auto small = (rows * scale).to(type);
    const auto found = tensor::kappa(small, bias * scale);
    const auto expected = tensor::kappa(rows, bias);
    CHECK(found.constant_features == 0);
    check_same(found.sigma, expected.sigma, epsilon);
    check_same(found.with_bias, expected.with_bias, epsilon);
    auto holed = small.clone();
    holed[3][1] = std::numeric_limits<double>::quiet_NaN();
    CHECK(tensor::kappa(holed, bias * scale).nonfinite_rows == 1);
    CHECK(tensor::kappa(holed, bias * scale).sigma.value ==
          Approx(expected.sigma.value).epsilon(0.1));
  }
}

TEST_CASE("an accumulator of batches and the sequences of a tensor give the same") {
  torch::manual_seed(2);
  const auto rows = torch::randn({60, 5, 4}, torch::kDouble) + torch::randn({60, 1, 4});
  tensor::MomentAccumulator moments(4);
  for (const auto& part : rows.split(20)) moments.update(part.reshape({-1, 4}), {}, 5);
  const auto found = tensor::kappa(rows);
  CHECK(found.sigma.n_effective < 200);
  check_same(tensor::kappa(moments).sigma, found.sigma, 1e-8);
  linalg::KappaOptions independent;
  independent.rows_per_group = 1;
  CHECK(tensor::kappa(rows, {}, independent).sigma.n_effective == Approx(300));
}

// Planted κ from 1e2 to 1e12 in rows of every type, whose products a stream sums in float: what is
// stated holds the truth, and what is not stated has a lower end that is true. Intervals of 95 %
// over the draws miss in more than the allowed number with probability below 1e-4.
TEST_CASE("what is said of float rows is true of the rows before they were rounded") {
  for (const auto type : {torch::kFloat, torch::kHalf, torch::kBFloat16, torch::kDouble}) {
    int stated = 0, misses = 0, false_bounds = 0, stated_of_rows = 0;
    for (const int64_t d : {4, 24, 64}) {
      for (int exponent = 2; exponent <= 12; exponent += 2) {
        for (const double mean : {0.0, 30.0}) {
          torch::manual_seed(d + exponent);
          const double truth = std::pow(10.0, exponent);
          const auto basis = std::get<0>(at::linalg_qr(torch::randn({d, d}, torch::kDouble)));
          const auto root = torch::logspace(0, -0.5 * exponent, d, 10, torch::kDouble);
          const auto covariance = basis.t().matmul(root.unsqueeze(1) * basis);
          const auto rows =
              (torch::randn({40 * d, d}, torch::kDouble).matmul(covariance) + mean).to(type);
          tensor::MomentAccumulator stream(d);
          for (const auto& part : rows.split(100)) stream.update(part);
          const auto of_rows = tensor::kappa(rows).sigma;
          if (mean == 0 && of_rows.resolution != linalg::Resolution::kNotResolvable)
            ++stated_of_rows;
          for (const auto& found : {of_rows, tensor::kappa(stream).sigma}) {
            CAPTURE(d, truth, mean, found.value, found.lower, found.upper, found.reason);
            const bool is_stated = found.resolution == linalg::Resolution::kResolved ||
                                   found.resolution == linalg::Resolution::kBiased;
            const bool low = found.lower <= truth * (1 + 1e-9), high = found.upper >= truth;
            stated += is_stated ? 1 : 0;
            misses += is_stated && !(low && high) ? 1 : 0;
            false_bounds += !is_stated && !low ? 1 : 0;
          }
        }
      }
    }
    CAPTURE(type, stated, stated_of_rows);
    CHECK(misses <= 0.05 * stated + 4 * std::sqrt(0.05 * stated));
    CHECK(false_bounds == 0);
    // Sums in double tell κ to 1e12 of rows of float, and of double.
    if (type == torch::kFloat || type == torch::kDouble) CHECK(stated_of_rows == 3 * 6);
  }
}

TEST_CASE("the coarsest rows and sums count, through merges and saved states") {
  torch::manual_seed(8);
  const auto rows = torch::randn({64, 3});
  tensor::MomentAccumulator fine(3), coarse(3);
  fine.update(rows);
  coarse.update(rows.to(torch::kBFloat16));
  fine.merge(coarse);
  tensor::MomentAccumulator read(3);
  read.load(fine.state());
  const auto moments = read.result();
  CHECK(moments.sum_rounding.minCoeff() > 0);
  CHECK(moments.row_rounding.isApprox(fine.result().row_rounding, 1e-15));
  CHECK(moments.row_rounding(0) > 0x1p-16 * moments.covariance(0, 0));
  tensor::MomentAccumulator exact(3);
  exact.update(rows.to(torch::kDouble));
  CHECK(exact.result().sum_rounding.isZero(0));
}

TEST_CASE("the solvers of the caller stay, and LAPACK sees nothing that is not finite") {
  int calls = 0;
  linalg::KappaOptions options;
  options.solvers.eigenpairs = [&](const Eigen::MatrixXd& matrix) {
    ++calls;
    return tensor::symmetric_eigen(matrix);
  };
  CHECK(tensor::kappa(torch::randn({50, 3}), {}, options).sigma.value > 1);
  CHECK(calls == 1);
  // Rows are brought to a scale whose squares a double holds; a stream's sums cannot be.
  tensor::MomentAccumulator sums(3);
  sums.update(torch::full({50, 3}, 1e300, torch::kDouble).mul(torch::randn({50, 3})));
  for (const auto& found :
       {tensor::kappa(torch::full({50, 3}, std::numeric_limits<float>::quiet_NaN())),
        tensor::kappa(torch::ones({0, 3})),
        tensor::kappa(sums)}) {
    CHECK(found.sigma.resolution == linalg::Resolution::kDegenerate);
    CHECK_FALSE(found.sigma.reason.empty());
  }
}

TEST_CASE("tensors of another kind are refused") {
  const auto rows = torch::randn({10, 3});
  CHECK_THROWS_WITH(tensor::kappa(rows[0]), Catch::Contains("got 1 dimensions"));
  CHECK_THROWS_WITH(tensor::kappa(at::Tensor()), Catch::Contains("got 0 dimensions"));
  CHECK_THROWS_WITH(tensor::kappa(rows.to(torch::kLong)), Catch::Contains("floating-point"));
  CHECK_THROWS_WITH(tensor::kappa(rows, torch::ones({4})), Catch::Contains("width 4"));
  CHECK_THROWS_WITH(tensor::kappa(rows, torch::ones({1, 3})), Catch::Contains("vector"));
}

TEST_CASE("kappa of rows on a device is that of the host", "[cuda]") {
  if (no_device()) return;
  torch::manual_seed(3);
  const auto rows = torch::randn({3000, 40}) * torch::linspace(1, 4, 40);
  const auto bias = torch::randn({40});
  const auto found = tensor::kappa(rows.cuda(), bias.cuda());
  check_same(found.with_bias, tensor::kappa(rows, bias).with_bias, 1e-3);
}
