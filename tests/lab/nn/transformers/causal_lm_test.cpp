// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/transformers/causal_lm.h"

#include <torch/autograd.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <set>

#include "kappascope/core/error.h"
#include "lab/nn/layers.h"
#include "lab/nn/transformers/language_models.h"
#include "support/catch.h"

using namespace kappascope;
using testing::gap;

namespace {

nn::LmSize tiny() {
  return {.vocabulary = 11,
          .layers = 3,
          .width = 8,
          .heads = 4,
          .kv_heads = 2,
          .head_width = 4,
          .hidden = 12};
}

std::vector<nn::CausalLmOptions> layouts() {
  return {nn::llama(tiny()),
          nn::phi3(tiny()),
          nn::qwen3(tiny()),
          nn::gemma3(tiny(), /*window=*/2, /*gated_dropout=*/0.1).global_every(3)};
}

int64_t counted(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

/// In double and in evaluation, every parameter away from where it starts.
nn::CausalLm drawn(const nn::CausalLmOptions& options) {
  nn::CausalLm model(options);
  model->to(torch::kDouble);
  model->eval();
  const torch::NoGradGuard no_grad;
  for (auto& parameter : model->parameters()) {
    parameter.add_(torch::randn_like(parameter), /*alpha=*/0.3);
  }
  return model;
}

at::Tensor ids(int64_t tokens = 7) {
  return torch::randint(11, {2, tokens}, torch::kLong);
}

std::set<std::string> names(const torch::nn::Module& module) {
  std::set<std::string> out;
  for (const auto& item : module.named_parameters()) out.insert(item.key());
  return out;
}

}  // namespace

TEST_CASE("qwen3-134m has 134M parameters, and the published sizes have theirs") {
  CHECK(nn::parameter_count(nn::language_model("qwen3-134m")) == 134'009'088);
  CHECK(nn::parameter_count(nn::language_model("phi3-mini")) == 3'821'079'552);
  CHECK(nn::parameter_count(nn::language_model("gemma3-1b")) == 999'885'952);
  const auto with_gpt2 = nn::language_model("qwen3-134m").vocabulary(50257);
  CHECK(std::lround(static_cast<double>(nn::parameter_count(with_gpt2)) / 1e5) == 1519);
}

TEST_CASE("what a layout counts is what it has, under every bias and feed-forward layer") {
  for (const auto& layout : layouts()) {
    for (const auto* name : {"swiglu", "geglu", "asger", "isogmlp"}) {
      for (const auto bias : {nn::BiasPlacement::kNone, nn::BiasPlacement::kBoth}) {
        const auto options =
            nn::with_biases(nn::with_feed_forward(layout, nn::parse_feed_forward(name, 8, 12)),
                            bias,
                            /*norms=*/bias != nn::BiasPlacement::kNone);
        CHECK(counted(*nn::CausalLm(options)) == nn::parameter_count(options));
      }
    }
  }
}

TEST_CASE("changing a later token changes no earlier logit, with every layout and both kernels") {
  torch::manual_seed(1);
  for (const auto& layout : layouts()) {
    for (const bool fused : {true, false}) {
      auto model = drawn(layout);
      nn::set_fused_attention(*model, fused);
      const auto before = ids();
      auto after = before.clone();
      after.select(1, 4).add_(1).remainder_(11);
      const auto y = model->forward(before), z = model->forward(after);
      CHECK(y.sizes() == at::IntArrayRef({2, 7, 11}));
      CHECK(gap(y.slice(1, 0, 4), z.slice(1, 0, 4)) < 1e-12);
      CHECK(gap(y.slice(1, 4), z.slice(1, 4)) > 1e-3);
    }
  }
}

TEST_CASE("fused attention gives the same logits and gradients, and no second derivative") {
  torch::manual_seed(2);
  for (const auto& layout : layouts()) {
    auto model = drawn(layout);
    const auto x = ids();
    std::vector<at::Tensor> logits, slopes;
    for (const bool fused : {true, false}) {
      nn::set_fused_attention(*model, fused);
      model->zero_grad();
      logits.push_back(model->forward(x));
      logits.back().square().mean().backward();
      std::vector<at::Tensor> flat;
      for (const auto& parameter : model->parameters()) flat.push_back(parameter.grad().flatten());
      slopes.push_back(torch::cat(flat).clone());
    }
    CHECK(gap(logits[0], logits[1]) < 1e-11);
    CHECK(gap(slopes[0], slopes[1]) < 1e-11 * std::max(1.0, slopes[1].abs().max().item<double>()));

    const auto parameters = model->parameters();
    const auto twice = [&] {
      const auto first = torch::autograd::grad({model->forward(x).square().mean()},
                                               parameters,
                                               {},
                                               /*retain_graph=*/true,
                                               /*create_graph=*/true);
      auto length = torch::zeros({}, torch::kDouble);
      for (const auto& gradient : first) length = length + gradient.square().sum();
      return torch::autograd::grad({length}, parameters);
    };
    for (const auto& second : twice()) CHECK(second.isfinite().all().item<bool>());
    nn::set_fused_attention(*model, true);
    CHECK_THROWS_WITH(twice(), Catch::Contains("derivative"));
  }
}

TEST_CASE("the four bias configurations start as one function and have Hugging Face's names") {
  const auto base = nn::llama(tiny());
  const auto x = ids();
  at::Tensor first;
  const std::set<std::string> plain = names(*nn::CausalLm(base));
  CHECK(plain.count("model.embed_tokens.weight") + plain.count("model.norm.weight") +
            plain.count("lm_head.weight") + plain.count("model.layers.2.self_attn.q_proj.weight") +
            plain.count("model.layers.0.mlp.down_proj.weight") +
            plain.count("model.layers.0.post_attention_layernorm.weight") ==
        6);
  for (const auto mlp : {nn::BiasPlacement::kNone, nn::BiasPlacement::kPostGating}) {
    for (const bool norms : {false, true}) {
      torch::manual_seed(3);
      nn::CausalLm model(nn::with_biases(base, mlp, norms));
      const auto y = model->forward(x);
      if (!first.defined()) first = y;
      CHECK(torch::equal(y, first));
      const auto all = names(*model);
      CHECK(all.count("model.layers.1.mlp.down_proj.post_gating_bias") ==
            (mlp == nn::BiasPlacement::kPostGating ? 1 : 0));
      CHECK(all.count("model.layers.1.input_layernorm.bias") == (norms ? 1 : 0));
      CHECK(all.count("model.norm.bias") == (norms ? 1 : 0));
      CHECK(all.size() ==
            plain.size() + (mlp == nn::BiasPlacement::kNone ? 0 : 3) + (norms ? 3 * 2 + 1 : 0));
    }
  }
}

TEST_CASE("tied models have no output matrix, and theirs is the embedding's") {
  auto model = drawn(nn::qwen3(tiny()));
  CHECK(names(*model).count("lm_head.weight") == 0);
  const auto x = ids();
  const auto h = model->model->forward(x);
  CHECK(gap(model->forward(x), h.matmul(model->model->embed_tokens->weight.t())) < 1e-12);
}

TEST_CASE("of Gemma's layers every n-th is global, and the others have a window and a base") {
  const auto options = nn::gemma3(tiny(), /*window=*/5);
  for (int64_t layer = 0; layer < 12; ++layer) {
    const auto attention = nn::block_options(options, layer).attention();
    const bool global = layer == 5 || layer == 11;
    CHECK(attention.window() == (global ? 0 : 5));
    CHECK(attention.rotary_base() == (global ? 1e6 : 1e4));
  }
}

TEST_CASE("a token beyond every local window is not seen") {
  torch::manual_seed(4);
  auto model = drawn(nn::gemma3(tiny(), /*window=*/2).global_every(4));  // three layers, all local
  const auto before = ids(9);
  auto after = before.clone();
  after.select(1, 0).add_(1).remainder_(11);
  const auto y = model->forward(before), z = model->forward(after);
  // Three layers with a reach of one token each: token 3 still sees token 0, token 4 does not.
  CHECK(gap(y.select(1, 3), z.select(1, 3)) > 1e-6);
  CHECK(gap(y.slice(1, 4), z.slice(1, 4)) < 1e-12);
}

TEST_CASE("tables of positions follow a change of length, type and mode") {
  torch::manual_seed(5);
  auto model = drawn(nn::qwen3(tiny()));
  nn::set_fused_attention(*model, false);
  const auto x = ids(9);
  const auto whole = model->forward(x);
  CHECK(gap(model->forward(x.slice(1, 0, 5)), whole.slice(1, 0, 5)) < 1e-12);
  model->to(torch::kFloat);
  CHECK(gap(model->forward(x).to(torch::kDouble), whole) < 1e-3);
  model->to(torch::kDouble);
  {
    const c10::InferenceMode inference;
    model->forward(x.slice(1, 0, 6));
  }
  model->forward(x.slice(1, 0, 6)).sum().backward();
  CHECK(gap(model->forward(x), whole) < 1e-5);  // the weights went through float
}

TEST_CASE("weights start normal with the deviation asked for, an IsoGMLP's orthogonal") {
  torch::manual_seed(6);
  nn::CausalLm model(nn::with_feed_forward(nn::language_model("qwen3-small"),
                                           nn::parse_feed_forward("isogmlp", 128, 512)));
  const auto parameters = model->named_parameters();
  // 32,768 and 16,384 draws: five standard errors of the deviation are 2.8 % at most.
  for (const auto* name : {"model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight"}) {
    CHECK(parameters[name].std().item<double>() == Approx(0.02).epsilon(0.028));
  }
  const auto& up = parameters["model.layers.3.mlp.up_proj.weight"];
  CHECK(gap(up.t().matmul(up), torch::eye(128)) < 1e-5);
  nn::CausalLm scaled(
      nn::with_feed_forward(nn::language_model("qwen3-small"),
                            nn::IsoGmlpOptions(128, 512).orthogonal(false).scaled(true)));
  CHECK(scaled->named_parameters()["model.layers.3.mlp.up_proj.weight"].std().item<double>() ==
        Approx(1 / std::sqrt(512.0)).epsilon(0.028));
}

TEST_CASE("a language model and its clone are equal, and names list the models there are") {
  for (const auto& layout : layouts()) {
    auto model = drawn(layout);
    const auto copy = std::dynamic_pointer_cast<nn::CausalLmImpl>(model->clone());
    const auto x = ids();
    CHECK(torch::equal(copy->forward(x), model->forward(x)));
    CHECK(nn::find_tapped(*copy).at(2).first == "model.layers.2.mlp.down_proj");
  }
  for (const auto& name : nn::language_model_names()) CHECK_NOTHROW(nn::language_model(name));
  CHECK_THROWS_WITH(nn::language_model("gpt"), Catch::Contains("gemma3-small"));
}

TEST_CASE("invalid language models are refused with the rule") {
  auto options = nn::llama(tiny());
  CHECK_THROWS_WITH(nn::CausalLm(nn::CausalLmOptions(options).layers(0)),
                    Catch::Contains("got 11, 0"));
  CHECK_THROWS_WITH(nn::CausalLm(nn::CausalLmOptions(options).global_every(2)),
                    Catch::Contains("window of at least 1"));
  nn::CausalLm model(options);
  CHECK_THROWS_WITH(model->forward(torch::zeros({3}, torch::kLong)),
                    Catch::Contains("[batch, tokens]"));
  options.block().attention().causal(false);
  CHECK_THROWS_WITH(nn::CausalLm(options), Catch::Contains("must be causal"));
}
