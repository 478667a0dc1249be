// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/recompute.h"

#include <torch/autograd.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "kappascope/nn/tapped_linear.h"
#include "lab/nn/transformers/language_models.h"
#include "lab/nn/transformers/vit_vae.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

nn::CausalLm model(double dropout) {
  auto options = nn::gemma3({.vocabulary = 11,
                             .layers = 3,
                             .width = 8,
                             .heads = 4,
                             .kv_heads = 2,
                             .head_width = 4,
                             .hidden = 12},
                            /*window=*/2,
                            dropout)
                     .global_every(3);
  options.block().dropout(dropout);
  torch::manual_seed(4);
  return nn::CausalLm(options);
}

std::vector<at::Tensor> gradients(const torch::nn::Module& module) {
  std::vector<at::Tensor> found;
  for (const auto& parameter : module.parameters()) found.push_back(parameter.grad().clone());
  return found;
}

}  // namespace

TEST_CASE("a recomputed block gives the same value, gradients and random state, to the last bit") {
  auto lm = model(/*dropout=*/0.2);
  const auto ids = torch::randint(11, {2, 7}, torch::kLong);
  const auto pass = [&](bool recompute) {
    nn::set_recompute(*lm, recompute);
    lm->zero_grad();
    torch::manual_seed(5);
    const auto loss = lm->forward(ids).square().mean();
    loss.backward();
    auto found = gradients(*lm);
    found.push_back(loss.detach());
    found.push_back(torch::rand({3}));  // what is drawn next
    return found;
  };
  const auto kept = pass(false), again = pass(true);
  REQUIRE(kept.size() == again.size());
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(torch::equal(kept[i], again[i]));
  // The comparison sees other masks.
  lm->zero_grad();
  torch::manual_seed(6);
  lm->forward(ids).square().mean().backward();
  CHECK_FALSE(torch::equal(gradients(*lm)[0], kept[0]));
}

TEST_CASE("a ViT-VAE is recomputed to the same bits, its noise included") {
  torch::manual_seed(7);
  nn::VitVae vae(nn::VitVaeOptions(8, 8)
                     .channels(1)
                     .patch(4)
                     .width(8)
                     .heads(2)
                     .hidden(6)
                     .latent(3)
                     .encoder_blocks(2)
                     .decoder_blocks(2));
  const auto images = torch::rand({3, 1, 8, 8});
  const auto pass = [&](bool recompute) {
    nn::set_recompute(*vae, recompute);
    vae->zero_grad();
    torch::manual_seed(8);
    vae->loss(images).backward();
    return gradients(*vae);
  };
  const auto kept = pass(false), again = pass(true);
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(torch::equal(kept[i], again[i]));
}

TEST_CASE("a recomputed block keeps its input alone, and its taps see a token once") {
  auto lm = model(/*dropout=*/0);
  const auto ids = torch::randint(11, {2, 7}, torch::kLong);
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> seen;
  int with_gradients = 0;
  for (const auto& [name, layer] : nn::find_tapped(*lm)) {
    layer->tap.listen([&](const nn::TapView& view) {
      seen.emplace_back(view.features.getIntrusivePtr());
      if (torch::GradMode::is_enabled()) ++with_gradients;
    });
  }
  const auto alive = [&] {
    return std::count_if(seen.begin(), seen.end(), [](const auto& t) { return !t.expired(); });
  };
  auto loss = lm->forward(ids).square().mean();
  CHECK(alive() == 3);  // the graph holds the features of every block
  nn::set_recompute(*lm, true);
  seen.clear();
  with_gradients = 0;
  loss = lm->forward(ids).square().mean();
  CHECK(seen.size() == 3);
  CHECK(alive() == 0);
  CHECK(with_gradients == 0);
  loss.backward();
  CHECK(with_gradients == 3);
  // In evaluation nothing runs twice.
  lm->eval();
  seen.clear();
  lm->forward(ids).square().mean().backward();
  CHECK(seen.size() == 3);
}

TEST_CASE("a recomputed block has an exact second derivative, through earlier blocks too") {
  auto lm = model(/*dropout=*/0);
  lm->to(torch::kDouble);
  nn::set_fused_attention(*lm, false);
  const auto ids = torch::randint(11, {2, 7}, torch::kLong);
  const auto parameters = lm->parameters();
  const auto second = [&](bool recompute) {
    nn::set_recompute(*lm, recompute);
    torch::manual_seed(10);
    const auto first = torch::autograd::grad({lm->forward(ids).square().mean()},
                                             parameters,
                                             {},
                                             /*retain_graph=*/true,
                                             /*create_graph=*/true);
    auto along = torch::zeros({}, torch::kDouble);
    for (const auto& gradient : first)
      along = along + (gradient * torch::randn_like(gradient)).sum();
    return torch::autograd::grad({along}, parameters);
  };
  const auto kept = second(false), again = second(true);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    // The same sums in another order, over some hundred terms.
    const double scale = kept[i].abs().max().item<double>();
    CHECK((kept[i] - again[i]).abs().max().item<double>() <= 1e-12 * scale);
    CHECK(scale > 0);
  }
}
