// SPDX-License-Identifier: Apache-2.0
#include "kappascope/nn/norms.h"

#include <torch/torch.h>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

double gap(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

at::Tensor random(at::IntArrayRef sizes) {
  return torch::randn(sizes, torch::kDouble);
}

}  // namespace

TEST_CASE("RMSNorm is its definition, with weight or 1 + weight, with and without a shift") {
  torch::manual_seed(1);
  const auto x = random({3, 4, 5});
  const auto normalised = x / (x * x).mean(-1, true).add(1e-3).sqrt();
  for (const bool plus_one : {false, true}) {
    for (const bool bias : {false, true}) {
      nn::RMSNorm norm(nn::RMSNormOptions(5).eps(1e-3).plus_one(plus_one).bias(bias));
      norm->to(torch::kDouble);
      CHECK(gap(norm->forward(x), normalised) < 1e-14);  // as it starts
      torch::NoGradGuard no_grad;
      norm->weight.normal_();
      auto expected = normalised * (plus_one ? 1 + norm->weight : norm->weight);
      CHECK(norm->bias.defined() == bias);
      if (bias) {
        norm->bias.normal_();
        expected = expected + norm->bias;
      }
      CHECK(gap(norm->forward(x), expected) < 1e-14);
    }
  }
}

TEST_CASE("RMSNorm has a second derivative") {
  nn::RMSNorm norm(3);
  norm->to(torch::kDouble);
  const auto x = random({2, 3}).requires_grad_();
  const auto first = torch::autograd::grad(
      {norm->forward(x).pow(3).sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  const auto second = torch::autograd::grad({first.square().sum()}, {x})[0];
  CHECK(second.isfinite().all().item<bool>());
  CHECK(second.abs().max().item<double>() > 0);
}

TEST_CASE("a bias before batch normalisation: lost in training, kept by running means") {
  torch::manual_seed(2);
  torch::NoGradGuard no_grad;
  torch::nn::BatchNorm1d with(4), without(4);
  with->to(torch::kDouble);
  without->to(torch::kDouble);
  const auto b = random({4}), batch = random({16, 4}), z = random({5, 4});
  CHECK(gap(with->forward(batch + b), without->forward(batch)) < 1e-12);
  with->eval();
  without->eval();
  const auto expected = with->forward(z + b);
  // One batch at momentum 0.1 gave the running mean a tenth of b.
  CHECK(gap(without->forward(z), expected) > 0.1);
  without->running_mean.copy_(with->running_mean);
  CHECK(gap(without->forward(z), expected) > 0.1);
  without->running_mean.sub_(b);
  CHECK(gap(without->forward(z), expected) < 1e-12);
}

TEST_CASE("a bias before LayerNorm loses its multiple of 1, before RMSNorm nothing") {
  torch::manual_seed(3);
  torch::nn::LayerNorm layer(torch::nn::LayerNormOptions({6}));
  nn::RMSNorm rms(6);
  layer->to(torch::kDouble);
  rms->to(torch::kDouble);
  const auto z = random({5, 6}), b = random({6}), mean = b.mean().expand({6});
  CHECK(gap(layer->forward(z + mean), layer->forward(z)) < 1e-12);
  CHECK(gap(layer->forward(z + b), layer->forward(z + b - mean)) < 1e-12);
  CHECK(gap(layer->forward(z + b - mean), layer->forward(z)) > 0.1);
  CHECK(gap(rms->forward(z + mean), rms->forward(z)) > 0.01);
}

TEST_CASE(
    "behind LayerNorm with Σ β/γ ≠ 0 a projection makes its bias itself, behind RMSNorm not") {
  torch::manual_seed(4);
  torch::NoGradGuard no_grad;
  torch::nn::LayerNorm layer(torch::nn::LayerNormOptions({6}));
  nn::RMSNorm rms(6);
  torch::nn::Linear linear(6, 3);
  for (torch::nn::Module* module : {static_cast<torch::nn::Module*>(layer.get()),
                                    static_cast<torch::nn::Module*>(rms.get()),
                                    static_cast<torch::nn::Module*>(linear.get())}) {
    module->to(torch::kDouble);
    for (auto& parameter : module->parameters()) parameter.normal_().add_(0.5);
  }
  const auto h = random({20, 6});
  const auto u = layer->weight.reciprocal() / (layer->bias / layer->weight).sum();
  const auto x = layer->forward(h);
  const auto itself = x.matmul((linear->weight + linear->bias.outer(u)).t());
  CHECK(gap(itself, linear->forward(x)) < 1e-9);
  // Opposite inputs come out opposite, so no u has xu = 1 for both.
  CHECK(gap(rms->forward(-h), -rms->forward(h)) == 0);
}

TEST_CASE("an RMSNorm that cannot be meant is refused with the rule") {
  CHECK_THROWS_WITH(nn::RMSNorm(0), Catch::Contains("at least 1, got 0"));
  CHECK_THROWS_WITH(nn::RMSNorm(nn::RMSNormOptions(3).eps(-1)), Catch::Contains("at least 0"));
}
