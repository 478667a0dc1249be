// SPDX-License-Identifier: Apache-2.0
#include "lab/train/adversarial.h"

#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

/// A linear loss, whose worst input in a box is known: every coordinate at the side of its sign.
struct Linear {
  at::Tensor slope = torch::randn({5, 7}, torch::kDouble);
  at::Tensor operator()(const at::Tensor& x) const { return (slope * x).sum(); }
};

}  // namespace

TEST_CASE("the one-step attack finds the worst input of a linear loss, inside [0, 1]") {
  torch::manual_seed(3);
  const Linear loss;
  const auto x = torch::rand({5, 7}, torch::kDouble);
  const auto worst = (x + 0.3 * loss.slope.sign()).clamp(0, 1);
  CHECK(torch::allclose(train::attack(loss, x, train::fgsm(0.3)), worst, 0, 1e-15));
  // Enough small steps come to the same corner from anywhere in the ball.
  CHECK(torch::allclose(train::attack(loss, x, train::pgd(0.3, 40, 0.02)), worst, 0, 1e-12));
}

TEST_CASE("an attack stays in its ball, and the document's moves by its steps from uniform noise") {
  torch::manual_seed(4);
  const Linear loss;
  const auto x = torch::full({5, 7}, 0.5, torch::kDouble);
  auto options = train::document_attack();
  CHECK((train::attack(loss, x, options) - x).abs().max().item<double>() <= 0.2 + 1e-15);
  const auto end = train::attack(loss, x, options);
  options.steps = 0;
  const auto start = train::attack(loss, x, options);
  CHECK((start - x).abs().max().item<double>() > 0.1);
  CHECK((end - start).abs().max().item<double>() <= 0.15 + 1e-12);
  CHECK(loss(end).item<double>() > loss(start).item<double>());
}

TEST_CASE("the ball about the start lets an attack move by all of its steps, and so does none") {
  torch::manual_seed(6);
  const Linear loss;
  const auto x = torch::full({5, 7}, 0.5, torch::kDouble);
  const auto moved = [&](train::Ball ball, int steps, bool clip = true) {
    auto options = train::document_attack();
    options.ball = ball;
    options.steps = steps;
    options.clip = clip;
    return train::attack(loss, x, options);
  };
  // From up to 0.2 away ten steps of 0.015 lead to up to 0.35; in the ball about the inputs, 0.2.
  for (const auto ball : {train::Ball::kStart, train::Ball::kNone}) {
    const auto start = moved(ball, 0), end = moved(ball, 10);
    CHECK(torch::allclose(end, start + 0.15 * loss.slope.sign(), 0, 1e-12));
    CHECK((end - x).abs().max().item<double>() > 0.25);
  }
  CHECK((moved(train::Ball::kInputs, 10) - x).abs().max().item<double>() <= 0.2 + 1e-15);
  // The ball about the start holds more steps than the document's; without one only [0, 1] does.
  const auto far = (moved(train::Ball::kStart, 40) - moved(train::Ball::kStart, 0)).abs();
  CHECK(far.max().item<double>() == Approx(0.2));
  const auto corner = (loss.slope > 0).to(torch::kDouble);
  CHECK(torch::equal(moved(train::Ball::kNone, 100), corner));
  CHECK(moved(train::Ball::kNone, 100, false).max().item<double>() > 1.5);
  CHECK(train::parse_ball("none") == train::Ball::kNone);
  CHECK_THROWS_AS(train::parse_ball("sphere"), UsageError);
}

TEST_CASE("an attack repeats, and leaves the random state and the parameters' gradients alone") {
  torch::manual_seed(5);
  torch::nn::Linear layer(torch::nn::LinearOptions(4, 3));
  const auto x = torch::rand({6, 4});
  const auto loss = [&](const at::Tensor& in) { return layer->forward(in).square().sum(); };
  auto generator = at::detail::getDefaultCPUGenerator();
  const auto before = generator.get_state();
  const torch::NoGradGuard no_grad;  // as in an evaluation
  const auto a = train::attack(loss, x, train::document_attack());
  CHECK(torch::equal(generator.get_state(), before));
  CHECK_FALSE(layer->weight.grad().defined());
  CHECK(torch::equal(train::attack(loss, x, train::document_attack()), a));
  auto other = train::document_attack();
  other.seed = 2;
  CHECK_FALSE(torch::equal(train::attack(loss, x, other), a));
  CHECK_THROWS_AS(train::attack(loss, x, train::fgsm(-1)), Error);
}
