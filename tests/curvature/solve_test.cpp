// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/solve.h"

#include <torch/types.h>

#include <cmath>

#include "kappascope/core/error.h"
#include "small_problem.h"
#include "support/catch.h"

using namespace kappascope;
using curvature::SolveStatus;

namespace {

/// A symmetric matrix as an operator.
class Dense final : public curvature::CurvatureOperator {
 public:
  explicit Dense(at::Tensor matrix) : matrix_(std::move(matrix)) {}
  [[nodiscard]] int64_t size() const override { return matrix_.size(0); }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override { return matrix_.matmul(v); }
  [[nodiscard]] at::TensorOptions vectors() const override { return matrix_.options(); }
  [[nodiscard]] double product_noise() const override { return 1e-15; }

 private:
  at::Tensor matrix_;
};

/// Q diag(values) Qᵀ with a random Q.
at::Tensor with_spectrum(const at::Tensor& values) {
  const auto n = values.size(0);
  const auto q = std::get<0>(at::linalg_qr(torch::randn({n, n}, torch::kDouble)));
  return (q * values).matmul(q.t());
}

double residual_of(const at::Tensor& matrix, const at::Tensor& x, const at::Tensor& b) {
  return ((matrix.matmul(x) - b).norm() / b.norm()).item<double>();
}

}  // namespace

TEST_CASE("definite and indefinite systems are solved to the residual that is said") {
  torch::manual_seed(1);
  const auto definite = torch::logspace(-2, 2, 40, 10.0, torch::kDouble);
  const auto indefinite = torch::cat({-torch::logspace(-1, 1, 20, 10.0, torch::kDouble),
                                      torch::logspace(-1, 2, 20, 10.0, torch::kDouble)});
  for (const auto& values : {definite, indefinite}) {
    const auto matrix = with_spectrum(values);
    const auto b = torch::randn({40}, torch::kDouble);
    const auto found = curvature::solve(Dense(matrix), b, {.tolerance = 1e-10});
    CHECK(found.status == SolveStatus::kConverged);
    CHECK(found.residual <= 1e-10);
    CHECK(residual_of(matrix, found.x, b) == Approx(found.residual).margin(1e-13));
    CHECK(found.products < 200);
  }
}

TEST_CASE("damping is added, and a system of few eigenvalues takes as few products") {
  torch::manual_seed(2);
  const auto values =
      torch::cat({torch::full({10}, 3.0, torch::kDouble), torch::full({10}, -2.0, torch::kDouble)});
  const auto matrix = with_spectrum(values);
  const auto b = torch::randn({20}, torch::kDouble);
  const auto found = curvature::solve(Dense(matrix), b, {.damping = 2.5, .tolerance = 1e-9});
  CHECK(found.status == SolveStatus::kConverged);
  CHECK(found.products <= 4);  // two of the iteration, and one that measures
  CHECK(residual_of(matrix + 2.5 * torch::eye(20, torch::kDouble), found.x, b) < 1e-9);
}

TEST_CASE("the Newton step of a network solves its dense system") {
  auto p = test::small_problem();
  const auto op = curvature::hessian([&] { return test::cross_entropy(p); },
                                     curvature::select_parameters(*p.model));
  std::vector<at::Tensor> columns;
  for (const auto& unit : torch::eye(op->size(), torch::kDouble).unbind())
    columns.push_back(op->apply(unit));
  const auto dense = torch::stack(columns, 1);
  torch::manual_seed(3);
  const auto b = torch::randn({op->size()}, torch::kDouble);
  const auto found = curvature::solve(*op, b, {.damping = 1, .tolerance = 1e-8});
  CHECK(found.status == SolveStatus::kConverged);
  const auto want = at::linalg_solve(dense + torch::eye(op->size(), torch::kDouble), b);
  CHECK((found.x - want).norm().item<double>() < 1e-6 * want.norm().item<double>());
}

TEST_CASE("a singular system has the shortest solution, or says that it has none") {
  torch::manual_seed(4);
  const auto values =
      torch::cat({torch::zeros({5}, torch::kDouble), torch::linspace(1, 4, 15, torch::kDouble)});
  const auto matrix = with_spectrum(values);
  const auto inside = matrix.matmul(torch::randn({20}, torch::kDouble));
  const auto found = curvature::solve(Dense(matrix), inside, {.tolerance = 1e-9});
  CHECK(found.status == SolveStatus::kConverged);
  const auto shortest = at::linalg_pinv(matrix, 1e-10).matmul(inside);
  CHECK((found.x - shortest).norm().item<double>() < 1e-7);
  const auto outside = torch::randn({20}, torch::kDouble);
  const auto none = curvature::solve(Dense(matrix), outside, {.tolerance = 1e-9});
  CHECK(none.status == SolveStatus::kStagnated);
  CHECK(none.residual > 0.1);
  CHECK(residual_of(matrix, none.x, outside) == Approx(none.residual));
}

TEST_CASE("what a system cannot reach is a status with the best that there is") {
  torch::manual_seed(5);
  const auto matrix = with_spectrum(torch::logspace(-8, 2, 60, 10.0, torch::kDouble));
  const auto b = torch::randn({60}, torch::kDouble);
  const auto few = curvature::solve(Dense(matrix), b, {.tolerance = 1e-12, .max_products = 10});
  CHECK(few.status == SolveStatus::kMaxProducts);
  CHECK(few.products <= 10);
  CHECK(few.residual < 1);
  CHECK(residual_of(matrix, few.x, b) == Approx(few.residual));
  // float32 rounds more away than is asked for.
  const auto single = matrix.to(torch::kFloat);
  const auto coarse = curvature::solve(Dense(single), b, {.damping = 1, .tolerance = 1e-14});
  CHECK(coarse.status == SolveStatus::kStagnated);
  CHECK(coarse.residual < 1e-5);
  auto broken = matrix.clone();
  broken[0][0] = NAN;
  CHECK(curvature::solve(Dense(broken), b).status == SolveStatus::kNonFinite);
  CHECK(curvature::solve(Dense(matrix), torch::zeros({60})).products == 0);
  CHECK_THROWS_AS(curvature::solve(Dense(matrix), torch::ones({59})), Error);
  CHECK_THROWS_AS(curvature::solve(Dense(matrix), torch::full({60}, NAN)), Error);
  CHECK_THROWS_AS(curvature::solve(Dense(matrix), b, {.tolerance = 0}), Error);
}

TEST_CASE("a diagonal is exact by n products, and within its errors by fewer") {
  torch::manual_seed(6);
  const auto matrix = with_spectrum(torch::linspace(-1, 3, 400, torch::kDouble));
  const auto want = matrix.diagonal();
  const auto exact = curvature::diagonal(Dense(matrix), {.max_products = 400});
  CHECK(exact.exact);
  CHECK(torch::equal(exact.value, want));
  const auto found = curvature::diagonal(Dense(matrix), {.max_products = 50, .seed = 3});
  CHECK_FALSE(found.exact);
  CHECK(found.products == 50);
  // The error's variance is known: squares beside the diagonal of a row, over the products.
  const auto beside = matrix.square().sum(1) - want.square();
  const auto ratio = (found.standard_error.square() * 50 / beside).mean().item<double>();
  CHECK(ratio == Approx(1).margin(0.05));
  // Of 400 entries at 2.01 standard errors (Student, 49) 20 are expected outside.
  const auto outside =
      ((found.value - want).abs() > 2.01 * found.standard_error).sum().item<int64_t>();
  CHECK(outside < 40);
  CHECK(outside > 5);
  CHECK_THROWS_AS(curvature::diagonal(Dense(matrix), {.max_products = 1}), Error);
}
