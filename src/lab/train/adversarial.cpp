// SPDX-License-Identifier: Apache-2.0
#include "lab/train/adversarial.h"

#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/require.h"
#include "kappascope/core/error.h"

namespace kappascope::train {

Ball parse_ball(const std::string& name) {
  if (name == "inputs") return Ball::kInputs;
  if (name == "start") return Ball::kStart;
  if (name == "none") return Ball::kNone;
  throw UsageError("attack.ball must be one of inputs, start, none; got '" + name + "'");
}

AttackOptions document_attack() {
  return {};
}

AttackOptions fgsm(double radius) {
  return {.radius = radius, .start = 0, .step_size = radius, .steps = 1};
}

AttackOptions pgd(double radius, int steps, double step_size) {
  return {.radius = radius, .start = radius, .step_size = step_size, .steps = steps};
}

at::Tensor attack_start(const at::Tensor& inputs, const AttackOptions& options) {
  require(options.start >= 0, "an attack's start must not be negative, got {}", options.start);
  auto origin = inputs.detach();
  if (options.start == 0) return origin;
  auto generator = at::make_generator<at::CPUGeneratorImpl>(options.seed);
  const auto noise = torch::empty(origin.sizes(), torch::kDouble)
                         .uniform_(-options.start, options.start, generator);
  return origin + noise.to(origin.options());
}

at::Tensor attack_from(const std::function<at::Tensor(const at::Tensor&)>& loss,
                       const at::Tensor& inputs,
                       const at::Tensor& start,
                       const AttackOptions& options) {
  require(options.radius >= 0 && options.step_size >= 0 && options.steps >= 0,
          "an attack's radius, step size and steps must not be negative");
  const torch::AutoGradMode with_gradients(true);
  const auto origin = inputs.detach();
  const auto centre = options.ball == Ball::kStart ? start : origin;
  const auto inside = [&](const at::Tensor& x) {
    auto near = options.ball == Ball::kNone
                    ? x
                    : torch::min(torch::max(x, centre - options.radius), centre + options.radius);
    return options.clip ? near.clamp(0, 1) : near;
  };
  auto x = options.start > 0 ? inside(start) : origin;
  for (int step = 0; step < options.steps; ++step) {
    x = x.detach().requires_grad_();
    const auto gradient = torch::autograd::grad({loss(x)}, {x}).front();
    x = inside(x.detach() + options.step_size * gradient.sign());
  }
  return x.detach();
}

at::Tensor attack(const std::function<at::Tensor(const at::Tensor&)>& loss,
                  const at::Tensor& inputs,
                  const AttackOptions& options) {
  return attack_from(loss, inputs, attack_start(inputs, options), options);
}

}  // namespace kappascope::train
