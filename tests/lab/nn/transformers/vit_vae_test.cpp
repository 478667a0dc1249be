// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/transformers/vit_vae.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

nn::VitVaeOptions tiny() {
  return nn::VitVaeOptions(8, 12)
      .patch(4)
      .width(12)
      .heads(3)
      .encoder_blocks(2)
      .decoder_blocks(1)
      .hidden(20)
      .latent(5);
}

at::Tensor images() {
  return torch::rand({2, 3, 8, 12});
}

}  // namespace

TEST_CASE("the paper's ViT-VAE has its shapes, its blocks and a tap in each") {
  nn::VitVae model(nn::VitVaeOptions(32, 32));
  CHECK(model->encoder->size() == 8);
  CHECK(model->decoder->size() == 8);
  CHECK(nn::find_tapped(*model).size() == 16);
  CHECK(nn::find_tapped(*model)[8].first == "decoder.0.mlp.down_proj");
  const torch::NoGradGuard no_grad;
  const auto x = torch::rand({1, 3, 32, 32}), codes = model->encode(x);
  CHECK(codes.sizes() == at::IntArrayRef({1, 4, 64}));
  CHECK(model->decode(codes).sizes() == x.sizes());
}

TEST_CASE("a patch of the image is a row of the embedding, and a row of pixels goes back to it") {
  torch::manual_seed(1);
  nn::VitVae model(tiny().dropout(0));
  model->eval();
  const torch::NoGradGuard no_grad;
  for (auto* list : {&model->encoder, &model->decoder}) {
    for (const auto& block : **list) {
      auto& parts = *block->as<nn::TransformerBlock>();
      parts.self_attn->o_proj->weight.zero_();
    }
  }
  for (const auto& [name, down] : nn::find_tapped(*model)) down->weight.zero_();
  // Without attention each patch has its own code; column 2, row 1 of [2, 3] patches is the last.
  const auto x = images();
  auto y = x.clone();
  y.slice(2, 4, 8).slice(3, 8, 12).add_(1);
  const auto change = (model->encode(y) - model->encode(x)).abs().sum(-1);
  CHECK(change.slice(1, 0, 5).max().item<float>() == 0);
  CHECK(change.select(1, 5).min().item<float>() > 0);
  const auto picture = (model->forward(y) - model->forward(x)).abs();
  CHECK(picture.slice(2, 4, 8).slice(3, 8, 12).min().item<float>() > 0);
  CHECK(picture.slice(2, 0, 4).max().item<float>() == 0);
  CHECK(picture.slice(3, 0, 8).max().item<float>() == 0);
  // Within a patch channels, rows and columns follow each other, as on the way in.
  model->to_pixels->weight.zero_();
  model->to_pixels->bias.copy_(torch::arange(48));
  const auto patch = model->decode(model->encode(x)).slice(2, 4, 8).slice(3, 4, 8)[1];
  CHECK(torch::equal(patch.flatten(), torch::arange(48, torch::kFloat)));
}

TEST_CASE("an autoencoder's weights and positions start with the deviation asked for") {
  torch::manual_seed(4);
  nn::VitVae model(nn::VitVaeOptions(16, 16).patch(4).width(128).heads(4).initial_deviation(0.08));
  // 2,048 draws and 6,144: five standard errors of the deviation are 8 % at most.
  CHECK(model->encoder_positions.std().item<double>() == Approx(0.08).epsilon(0.08));
  CHECK(model->patch_embedding->weight.std().item<double>() == Approx(0.08).epsilon(0.08));
}

TEST_CASE("latent noise has its deviation in training and is absent in evaluation") {
  torch::manual_seed(2);
  nn::VitVae model(tiny().dropout(0).latent_noise(0.5));
  const torch::NoGradGuard no_grad;
  const auto x = images();
  CHECK((model->forward(x) - model->forward(x)).abs().max().item<float>() > 1e-3);
  torch::manual_seed(3);
  const auto noise = torch::randn_like(model->encode(x));
  torch::manual_seed(3);
  CHECK(torch::allclose(model->forward(x), model->decode(model->encode(x) + 0.5 * noise)));
  model->eval();
  CHECK(torch::equal(model->forward(x), model->decode(model->encode(x))));
}

TEST_CASE("the loss is RMSE plus the weighted mean length of the codes") {
  torch::manual_seed(4);
  nn::VitVae model(tiny().length_weight(0.25));
  model->eval();
  const auto x = images();
  const auto codes = model->encode(x);
  const auto error = (x - model->decode(codes)).square().mean().sqrt();
  const auto length = codes.square().sum(-1).sqrt().mean();
  CHECK(torch::allclose(model->loss(x), error + 0.25 * length));
  model->loss(x).backward();
  for (const auto& item : model->named_parameters()) {
    CAPTURE(item.key());
    CHECK(item.value().grad().isfinite().all().item<bool>());
  }
}

TEST_CASE("dropout acts on U and on attention in training, and a clone is its equal") {
  torch::manual_seed(5);
  nn::VitVae model(tiny().latent_noise(0).dropout(0.3).bias(nn::BiasPlacement::kPostGating));
  at::Tensor features;
  const auto tapped = nn::find_tapped(*model);
  tapped[0].second->tap.listen([&](const nn::TapView& v) { features = v.features; });
  const auto x = images();
  CHECK_FALSE(torch::equal(model->forward(x), model->forward(x)));
  CHECK(features.eq(0).sum().item<int64_t>() > 0);
  CHECK(tapped[0].second->post_gating_bias.defined());
  model->eval();
  const auto copy = std::dynamic_pointer_cast<nn::VitVaeImpl>(model->clone());
  CHECK(torch::equal(copy->forward(x), model->forward(x)));
}

TEST_CASE("an invalid ViT-VAE, and images that do not fit, are refused with the rule") {
  CHECK_THROWS_WITH(nn::VitVae(nn::VitVaeOptions(30, 32)),
                    Catch::Contains("whole patches of 16 pixels, got 30 x 32"));
  CHECK_THROWS_WITH(nn::VitVae(tiny().decoder_blocks(0)), Catch::Contains("got 2 and 0"));
  CHECK_THROWS_WITH(nn::VitVae(tiny().latent_noise(-1)), Catch::Contains("at least 0"));
  nn::VitVae model(tiny());
  CHECK_THROWS_WITH(model->forward(torch::rand({2, 1, 8, 12})),
                    Catch::Contains("[batch, 3, 8, 12]"));
  CHECK_THROWS_WITH(model->decode(torch::rand({2, 5, 5})), Catch::Contains("[batch, 6, 5]"));
}
