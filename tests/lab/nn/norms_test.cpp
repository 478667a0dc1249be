// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/norms.h"

#include <torch/autograd.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "lab/nn/layers.h"
#include "support/catch.h"

using namespace kappascope;
using testing::gap;

namespace {

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
      nn::Norm norm(nn::NormOptions(5).eps(1e-3).plus_one(plus_one).bias(bias));
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

TEST_CASE("layer and batch norms are LibTorch's, over tokens of any shape") {
  torch::manual_seed(5);
  const auto x = random({3, 4, 5});
  const torch::NoGradGuard no_grad;
  nn::Norm layer(nn::NormOptions(5).kind(nn::NormKind::kLayer).eps(1e-5).bias(true));
  nn::Norm batch(nn::NormOptions(5).kind(nn::NormKind::kBatch).eps(1e-5).bias(true));
  torch::nn::LayerNorm layer_reference(torch::nn::LayerNormOptions({5}));
  torch::nn::BatchNorm1d batch_reference(5);
  for (auto* norm : {&layer, &batch}) {
    (*norm)->to(torch::kDouble);
    (*norm)->weight.normal_();
    (*norm)->bias.normal_();
  }
  layer_reference->to(torch::kDouble);
  batch_reference->to(torch::kDouble);
  layer_reference->weight.copy_(layer->weight);
  layer_reference->bias.copy_(layer->bias);
  batch_reference->weight.copy_(batch->weight);
  batch_reference->bias.copy_(batch->bias);
  CHECK(gap(layer->forward(x), layer_reference->forward(x)) < 1e-14);
  CHECK(gap(batch->forward(x).flatten(0, 1), batch_reference->forward(x.flatten(0, 1))) < 1e-14);
  batch->eval();
  batch_reference->eval();
  CHECK(gap(batch->forward(x).flatten(0, 1), batch_reference->forward(x.flatten(0, 1))) < 1e-14);
  CHECK(gap(batch->running_var, batch_reference->running_var) < 1e-14);
}

TEST_CASE("RMSNorm has a second derivative") {
  nn::Norm norm(3);
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
  nn::Norm rms(6);
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
  nn::Norm rms(6);
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

TEST_CASE("an invalid norm is refused with the rule") {
  CHECK_THROWS_WITH(nn::Norm(0), Catch::Contains("at least 1, got 0"));
  CHECK_THROWS_WITH(nn::Norm(nn::NormOptions(3).eps(-1)), Catch::Contains("at least 0"));
}
