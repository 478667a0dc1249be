// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "curvature/small_problem.h"
#include "kappascope/core/error.h"
#include "kappascope/curvature/operators.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;
using Catch::Contains;
using curvature::ProductKind;

TEST_CASE("a parameter that the loss does not reach has zero rows, and the rest is right") {
  auto p = small_problem();
  auto parameters = curvature::select_parameters(*p.model);
  const auto loss = [&] { return cross_entropy(p); };
  const auto alone = dense(*curvature::hessian(loss, parameters));
  const auto outputs = [&] { return p.model->forward(p.x); };
  const auto cross = curvature::OutputLoss::kCrossEntropy;
  const auto newton_alone = dense(*curvature::gauss_newton(outputs, cross, parameters));
  // In the middle, so that what comes after is moved.
  parameters.insert(parameters.begin() + 2,
                    {"unused", torch::ones({3}, torch::requires_grad().dtype(torch::kDouble))});
  const auto begin = parameters[0].second.numel() + parameters[1].second.numel();
  for (const auto kind :
       {ProductKind::kGraphKept, ProductKind::kRecomputed, ProductKind::kFiniteDifference}) {
    CAPTURE(curvature::to_string(kind));
    curvature::OperatorOptions options;
    options.product = kind;
    const auto check = [&](const curvature::CurvatureOperator& op, const Eigen::MatrixXd& want) {
      const auto whole = dense(op);
      REQUIRE(whole.rows() == want.rows() + 3);
      CHECK(whole.middleRows(begin, 3).norm() == 0);
      CHECK(whole.middleCols(begin, 3).norm() <= op.product_noise() * want.norm());
      const auto after = want.rows() - begin;
      CHECK((whole.bottomRightCorner(after, after) - want.bottomRightCorner(after, after)).norm() <
            20 * op.product_noise() * want.norm());
    };
    check(*curvature::hessian(loss, parameters, options), alone);
    check(*curvature::gauss_newton(outputs, cross, parameters, options), newton_alone);
  }
}

TEST_CASE("a frozen parameter and one that is listed twice are named") {
  auto p = small_problem();
  const auto loss = [&] { return cross_entropy(p); };
  auto parameters = curvature::select_parameters(*p.model);
  const auto [name, first] = parameters[0];
  parameters.emplace_back("twin", first);
  CHECK_THROWS_WITH(curvature::hessian(loss, parameters),
                    Contains("twin") && Contains(name) && Contains("same tensor"));
  parameters.pop_back();
  first.set_requires_grad(false);
  CHECK_THROWS_WITH(curvature::hessian(loss, parameters),
                    Contains(name) && Contains("does not require a gradient"));
}

TEST_CASE("shared weights are one parameter, with the curvature of all their uses") {
  struct Tied : torch::nn::Module {
    Tied() : in(register_module("in", torch::nn::Linear(3, 3))) {
      register_module("out", in);
      to(torch::kDouble);
    }
    torch::nn::Linear in;
  };
  torch::manual_seed(4);
  Tied model;
  const auto x = torch::randn({7, 3}, torch::kDouble);
  const auto parameters = curvature::select_parameters(model);
  REQUIRE(parameters.size() == 2);
  const auto op = curvature::hessian(
      [&] { return model.in(torch::silu(model.in(x))).square().mean(); }, parameters);
  // With two layers of the same values, w ↦ (w, w) turns H into the sum of its four blocks.
  torch::nn::Linear other(3, 3);
  other->to(torch::kDouble);
  {
    const torch::NoGradGuard no_grad;
    other->weight.copy_(model.in->weight);
    other->bias.copy_(model.in->bias);
  }
  const auto apart =
      dense(*curvature::hessian([&] { return other(torch::silu(model.in(x))).square().mean(); },
                                {{"in.weight", model.in->weight},
                                 {"in.bias", model.in->bias},
                                 {"out.weight", other->weight},
                                 {"out.bias", other->bias}}));
  const Eigen::MatrixXd want = apart.topLeftCorner(12, 12) + apart.topRightCorner(12, 12) +
                               apart.bottomLeftCorner(12, 12) + apart.bottomRightCorner(12, 12);
  CHECK((dense(*op) - want).norm() < 1e-13 * want.norm());
}
