// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/kappa.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "device.h"
#include "kappascope/core/error.h"
#include "kappascope/tensor/convert.h"
#include "support/catch.h"

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
                                                {torch::kBFloat16, -90, 0.05}}) {
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
