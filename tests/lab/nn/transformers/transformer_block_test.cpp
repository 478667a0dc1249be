// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/transformers/transformer_block.h"

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "lab/nn/layers.h"
#include "support/catch.h"

using namespace kappascope;
using testing::gap;

namespace {

constexpr int64_t kWidth = 8;

nn::TransformerBlockOptions options(nn::NormOrder order = nn::NormOrder::kPre) {
  return nn::TransformerBlockOptions(nn::AttentionOptions(kWidth, 2).rotary_base(100),
                                     nn::GatedMlpOptions(kWidth, 12))
      .order(order);
}

/// In double, every parameter random.
nn::TransformerBlock drawn(const nn::TransformerBlockOptions& options) {
  nn::TransformerBlock block(options);
  block->to(torch::kDouble);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : block->parameters()) parameter.normal_(0.0, 0.7);
  return block;
}

at::Tensor input() {
  return torch::randn({2, 5, kWidth}, torch::kDouble);
}

std::vector<std::string> names(torch::nn::Module& module) {
  std::vector<std::string> out;
  for (const auto& item : module.named_children()) out.push_back(item.key());
  return out;
}

}  // namespace

TEST_CASE("each order of norms is its definition and has Hugging Face's names") {
  torch::manual_seed(1);
  using Names = std::vector<std::string>;
  const auto x = input();
  {
    auto b = drawn(options(nn::NormOrder::kPre));
    const auto h = x + b->self_attn->forward(b->input_layernorm->forward(x));
    CHECK(gap(b->forward(x), h + b->mlp->forward(b->post_attention_layernorm->forward(h))) == 0);
    CHECK(names(*b) == Names{"input_layernorm", "self_attn", "post_attention_layernorm", "mlp"});
  }
  {
    auto b = drawn(options(nn::NormOrder::kPost));
    const auto h = b->post_attention_layernorm->forward(x + b->self_attn->forward(x));
    CHECK(gap(b->forward(x), b->post_feedforward_layernorm->forward(h + b->mlp->forward(h))) == 0);
    CHECK(names(*b) ==
          Names{"self_attn", "post_attention_layernorm", "mlp", "post_feedforward_layernorm"});
  }
  {
    auto b = drawn(options(nn::NormOrder::kSandwich));
    const auto a = b->self_attn->forward(b->input_layernorm->forward(x));
    const auto h = x + b->post_attention_layernorm->forward(a);
    const auto z = b->mlp->forward(b->pre_feedforward_layernorm->forward(h));
    CHECK(gap(b->forward(x), h + b->post_feedforward_layernorm->forward(z)) == 0);
    CHECK(names(*b) == Names{"input_layernorm",
                             "self_attn",
                             "post_attention_layernorm",
                             "pre_feedforward_layernorm",
                             "mlp",
                             "post_feedforward_layernorm"});
  }
}

TEST_CASE(
    "every combination of norm, order and biases has the parameters it counts, and an equal "
    "clone") {
  torch::manual_seed(2);
  for (int bits = 0; bits < 72; ++bits) {
    const bool bias = bits % 2 == 1, rotary = bits / 2 % 2 == 1, joint = bits / 4 % 2 == 1;
    auto o = options(static_cast<nn::NormOrder>(bits / 8 % 3)).dropout(0.5);
    o.norm().kind(static_cast<nn::NormKind>(bits / 24)).bias(bias);
    o.attention().q_bias(bias).k_bias(bias).v_bias(bias).o_bias(rotary);
    o.attention().rotary_base(rotary ? 100 : 0).kv_heads(1).joint_qkv(joint).qk_norm(rotary);
    auto block = drawn(o);
    CAPTURE(bits);
    int64_t count = 0;
    for (const auto& parameter : block->parameters()) count += parameter.numel();
    CHECK(count == nn::parameter_count(o));
    const auto x = input();
    block->forward(x);  // running means move
    const auto copy = std::dynamic_pointer_cast<nn::TransformerBlockImpl>(block->clone());
    block->eval();
    copy->eval();
    CHECK(torch::equal(copy->forward(x), block->forward(x)));
  }
}

TEST_CASE("blocks that differ in attention biases start from the same weights") {
  torch::manual_seed(3);
  nn::TransformerBlock none(options());
  auto biased_options = options();
  biased_options.attention().q_bias(true).k_bias(true).v_bias(true).o_bias(true);
  torch::manual_seed(3);
  nn::TransformerBlock biased(biased_options);
  const auto x = torch::randn({2, 5, kWidth});
  CHECK(torch::equal(none->forward(x), biased->forward(x)));
}

TEST_CASE(
    "a bias before batch norm is lost in post-norm training, and one before RMS norm is not") {
  for (const auto kind : {nn::NormKind::kBatch, nn::NormKind::kRms}) {
    torch::manual_seed(4);
    auto o = options(nn::NormOrder::kPost);
    o.attention().o_bias(true);
    o.norm().kind(kind);
    auto block = drawn(o);
    const auto x = input(), with = block->forward(x);
    const torch::NoGradGuard no_grad;
    block->self_attn->o_proj->bias.zero_();
    const double change = gap(block->forward(x), with);
    if (kind == nn::NormKind::kBatch) {
      CHECK(change < 1e-11);
    } else {
      CHECK(change > 1e-2);
    }
  }
}

TEST_CASE("residual dropout acts on both branches in training and on neither in evaluation") {
  torch::manual_seed(5);
  auto block = drawn(options().dropout(0.5));
  const auto x = input();
  CHECK(gap(block->forward(x), block->forward(x)) > 0.1);
  block->eval();
  CHECK(gap(block->forward(x), block->forward(x)) == 0);
}

TEST_CASE("a block whose parts do not fit is refused with the rule") {
  const nn::AttentionOptions attention(8, 2);
  CHECK_THROWS_WITH(
      nn::TransformerBlock(nn::TransformerBlockOptions(attention, nn::GatedMlpOptions(6, 12))),
      Catch::Contains("got 8, 6 and 8"));
  CHECK_THROWS_WITH(nn::TransformerBlock(options().dropout(1)), Catch::Contains("[0, 1)"));
  CHECK_THROWS_WITH(nn::Attention(nn::AttentionOptions(8, 2).joint_qkv(true).k_bias(true)),
                    Catch::Contains("all three biases or none, got 1"));
  CHECK_THROWS_AS(nn::parse_norm_kind("group"), UsageError);
  CHECK_THROWS_AS(nn::parse_norm_order("middle"), UsageError);
}
