// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/preconditioner.h"

#include <torch/types.h>

#include <cmath>

#include "curvature/small_problem.h"
#include "kappascope/core/error.h"
#include "kappascope/curvature/spectrum.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;
using Catch::Contains;

namespace {

/// |x| after 2,000 steps of x ← x − η m, m ← β m + weight λ x, from 1.
double after_steps(double lambda, double rate, double beta, double weight) {
  double x = 1;
  double m = 0;
  for (int step = 0; step < 2000; ++step) {
    m = beta * m + weight * lambda * x;
    x -= rate * m;
  }
  return std::abs(x);
}

}  // namespace

TEST_CASE("a quadratic falls below the limit and grows above it") {
  for (const double beta : {0.0, 0.5, 0.9}) {
    CAPTURE(beta);
    const double rate = 0.03;
    const double heavy_ball = curvature::momentum_limit(rate, beta);
    CHECK(after_steps(0.98 * heavy_ball, rate, beta, 1) < 0.1);
    CHECK(after_steps(1.02 * heavy_ball, rate, beta, 1) > 10);
    const double mean = curvature::adam_limit(rate, beta);
    CHECK(after_steps(0.98 * mean, rate, beta, 1 - beta) < 0.1);
    CHECK(after_steps(1.02 * mean, rate, beta, 1 - beta) > 10);
  }
  CHECK(curvature::adam_limit(1, 0.9) == Approx(38));
}

TEST_CASE("Adam's preconditioner holds its corrections for the first steps") {
  const curvature::AdamMoments moments{
      .second = {torch::tensor({4e-4, 0.0}, torch::kDouble), torch::tensor({9e-4F})},
      .steps = 3,
      .rate = 0.1,
      .eps = 1e-3};
  const auto found = curvature::adam_preconditioner(moments);
  CHECK(found.limit == Approx(380));
  REQUIRE(found.scale.numel() == 3);
  const double first = 1 - std::pow(0.9, 3);
  const double second = 1 - std::pow(0.999, 3);
  const auto want = [&](double v) { return 1 / std::sqrt(first * (std::sqrt(v / second) + 1e-3)); };
  CHECK(found.scale[0].item<double>() == Approx(want(4e-4)).epsilon(1e-12));
  CHECK(found.scale[1].item<double>() == Approx(want(0)).epsilon(1e-12));
  CHECK(found.scale[2].item<double>() == Approx(want(9e-4F)).epsilon(1e-7));  // of a float
  CHECK_THROWS_WITH(curvature::adam_preconditioner({.second = moments.second}),
                    Contains("before its first step"));
}

TEST_CASE("RMSprop's preconditioner is the root of its second moments") {
  const curvature::RmspropMoments moments{.second = {torch::tensor({4e-4, 0.0}, torch::kDouble)},
                                          .rate = 0.1,
                                          .momentum = 0.5,
                                          .eps = 1e-3};
  const auto found = curvature::rmsprop_preconditioner(moments);
  CHECK(found.limit == Approx(30));
  CHECK(found.scale[0].item<double>() == Approx(1 / std::sqrt(0.021)).epsilon(1e-12));
  CHECK(found.scale[1].item<double>() == Approx(1 / std::sqrt(0.001)).epsilon(1e-12));
}

TEST_CASE("a scaled operator is D C D, to the noise that it states") {
  const auto exact = small_problem();
  auto doubles = exact;
  auto floats = in_type(exact, torch::kFloat);
  for (Problem* problem : {&doubles, &floats}) {
    const auto parameters = curvature::select_parameters(*problem->model);
    const auto op = curvature::hessian([&] { return cross_entropy(*problem); }, parameters);
    // Over three decades, as the roots of second moments are.
    const auto scale = torch::logspace(-1.5, 1.5, op->size(), 10, torch::kDouble);
    const auto scaled = curvature::scaled(*op, scale);
    auto same = in_type(*problem, torch::kDouble);  // the same numbers, in double
    const auto reference = curvature::hessian([&] { return cross_entropy(same); },
                                              curvature::select_parameters(*same.model));
    const Eigen::VectorXd d = tensor::to_vector(scale);
    const Eigen::MatrixXd want = d.asDiagonal() * dense(*reference) * d.asDiagonal();
    const bool single = problem == &floats;
    CAPTURE(single, scaled->product_noise());
    CHECK(product_error(*scaled, want) <= scaled->product_noise());
    CHECK(scaled->product_noise() >= op->product_noise());
    CHECK(scaled->product_noise() < (single ? 1e-4 : 1e-12));
    const auto top = curvature::eigenpairs(*scaled, {.top = 1});
    CHECK(std::abs(top.found.eigenvalues[0] - eigenvalues(want).maxCoeff()) <=
          top.found.bounds()[0]);
  }
}

TEST_CASE("a scale that is none is refused") {
  auto problem = small_problem();
  const auto op = curvature::hessian([&] { return cross_entropy(problem); },
                                     curvature::select_parameters(*problem.model));
  auto scale = torch::ones({op->size()}, torch::kDouble);
  CHECK_THROWS_WITH(curvature::scaled(*op, scale.narrow(0, 0, 3)), Contains("has 3 numbers"));
  scale[0] = 0;
  CHECK_THROWS_WITH(curvature::scaled(*op, scale), Contains("positive and finite"));
}
