// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/attention.h"

#include <torch/autograd.h>
#include <torch/nn/modules/normalization.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "kappascope/core/error.h"
#include "lab/nn/layers.h"
#include "support/catch.h"
#include "theory/checks/bias_redundancy/attention.h"

using namespace kappascope;
using testing::gap;

namespace {

using Reference = theory::AttentionBlock<double>;

constexpr int64_t kWidth = 8, kTokens = 5, kBatch = 2;
constexpr double kDropout = 0.25;

theory::Matrix<double> matrix(const at::Tensor& tensor) {
  const auto flat = tensor.detach().to(torch::kDouble).contiguous();
  theory::Matrix<double> out(flat.size(0), flat.size(1));
  const auto* entry = flat.const_data_ptr<double>();
  for (theory::Index i = 0; i < out.rows(); ++i) {
    for (theory::Index j = 0; j < out.cols(); ++j) out(i, j) = *entry++;
  }
  return out;
}

theory::Vector<double> vector(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return matrix(tensor.unsqueeze(1));
}

/// The Torch-free reference with the module's parameters.
Reference reference(nn::Attention& layer) {
  const auto& options = layer->options;
  Reference block;
  block.heads = options.heads();
  block.kv_heads = options.kv_heads();
  block.query = matrix(layer->q_proj->weight.t());
  block.key = matrix(layer->k_proj->weight.t());
  block.value = matrix(layer->v_proj->weight.t());
  block.output = matrix(layer->o_proj->weight.t());
  block.query_bias = vector(layer->q_proj->bias);
  block.key_bias = vector(layer->k_proj->bias);
  block.value_bias = vector(layer->v_proj->bias);
  block.output_bias = vector(layer->o_proj->bias);
  if (options.qk_norm()) {
    const double more = options.norm_plus_one() ? 1 : 0;
    block.query_gain = vector(layer->q_norm->weight + more);
    block.key_gain = vector(layer->k_norm->weight + more);
    block.epsilon = options.norm_eps();
  }
  const auto planes = options.head_width() / 2;
  for (int64_t i = 0; options.rotary_base() > 0 && i < planes; ++i) {
    const double angle =
        std::pow(options.rotary_base(), -static_cast<double>(2 * i) / options.head_width());
    block.rotary.push_back({std::cos(angle), std::sin(angle)});
  }
  block.scale = options.scale();
  block.cap = options.soft_cap();
  block.causal = options.causal();
  block.window = options.window();
  block.sinks = vector(layer->sinks);
  return block;
}

/// Every parameter random, so that none hides behind a zero or a one.
nn::Attention drawn(const nn::AttentionOptions& options) {
  nn::Attention layer(options);
  layer->to(torch::kDouble);
  torch::NoGradGuard no_grad;
  for (auto& parameter : layer->parameters()) parameter.normal_(0.0, 0.7);
  return layer;
}

nn::AttentionOptions with_biases() {
  return nn::AttentionOptions(kWidth, 2).q_bias(true).k_bias(true).v_bias(true).o_bias(true);
}

at::Tensor input() {
  return torch::randn({kBatch, kTokens, kWidth}, torch::kDouble);
}

/// The same dropout mask in every call.
at::Tensor forward(nn::Attention& layer, const at::Tensor& x) {
  torch::manual_seed(11);
  return layer->forward(x);
}

}  // namespace

TEST_CASE("the module is the Torch-free reference under every combination of switches") {
  torch::manual_seed(1);
  for (int bits = 0; bits < 1 << 9; ++bits) {
    const auto on = [&](int place) { return (bits >> place & 1) == 1; };
    auto options = nn::AttentionOptions(kWidth, 4);
    options.q_bias(on(0)).k_bias(on(0)).v_bias(on(0)).o_bias(on(0));
    options.qk_norm(on(1)).norm_plus_one(on(1) && on(0)).norm_eps(1e-3);
    options.rotary_base(on(2) ? 100 : 0).soft_cap(on(3) ? 1.5 : 0).causal(on(4));
    options.window(on(5) ? 3 : 0).sink(on(6)).dropout(on(7) ? kDropout : 0);
    if (on(8)) options.kv_heads(2).head_width(6).scale(0.3);
    auto layer = drawn(options);
    const auto x = input();
    const auto y = forward(layer, x);
    torch::manual_seed(11);
    const auto kept =
        torch::dropout(torch::ones({kBatch, 4, kTokens, kTokens}, torch::kDouble), kDropout, true);
    const auto block = reference(layer);
    double largest = 0;
    for (int64_t i = 0; i < kBatch; ++i) {
      std::vector<theory::Matrix<double>> masks;
      for (int64_t head = 0; on(7) && head < 4; ++head) masks.push_back(matrix(kept[i][head]));
      const auto expected = theory::attention(block, matrix(x[i]), masks);
      largest = std::max(largest, (matrix(y[i]) - expected).largest_magnitude());
    }
    CAPTURE(bits);
    REQUIRE(largest < 1e-12);
  }
}

TEST_CASE("a joint projection and the fused kernel give what separate ones written out give") {
  torch::manual_seed(6);
  for (int bits = 0; bits < 1 << 4; ++bits) {
    const auto on = [&](int place) { return (bits >> place & 1) == 1; };
    auto options = nn::AttentionOptions(kWidth, 4).kv_heads(2).head_width(6).rotary_base(100);
    options.causal(on(0)).window(on(1) ? 3 : 0).qk_norm(on(2));
    options.q_bias(on(3)).k_bias(on(3)).v_bias(on(3));
    auto separate = drawn(options);
    auto joint = drawn(options.joint_qkv(true));
    const torch::NoGradGuard no_grad;
    for (const auto& item : separate->named_parameters()) {
      if (auto* same = joint->named_parameters().find(item.key())) same->copy_(item.value());
    }
    joint->qkv_proj->weight.copy_(
        torch::cat({separate->q_proj->weight, separate->k_proj->weight, separate->v_proj->weight}));
    if (on(3)) {
      joint->qkv_proj->bias.copy_(
          torch::cat({separate->q_proj->bias, separate->k_proj->bias, separate->v_proj->bias}));
    }
    CAPTURE(bits);
    const auto x = input(), expected = separate->forward(x);
    CHECK(gap(joint->forward(x), expected) < 1e-12);
    nn::set_fused_attention(*separate, true);
    CHECK(separate->options.fused());
    CHECK(gap(separate->forward(x), expected) < 1e-12);
  }
}

TEST_CASE("the fused kernel is refused where it cannot compute the layer, which stays as it is") {
  CHECK_THROWS_WITH(nn::Attention(nn::AttentionOptions(8, 2).fused(true).soft_cap(2)),
                    Catch::Contains("neither a soft cap nor a sink"));
  nn::Attention layer(nn::AttentionOptions(8, 2).sink(true));
  CHECK_THROWS_WITH(nn::set_fused_attention(*layer, true), Catch::Contains("nor a sink"));
  CHECK_FALSE(layer->options.fused());
}

TEST_CASE("b_K goes without a trace, but for key norm, soft-capping, a sink and rotary") {
  const auto loss_of_key_bias = [](const nn::AttentionOptions& options) {
    torch::manual_seed(2);
    auto layer = drawn(options);
    const auto x = input(), with = forward(layer, x);
    torch::NoGradGuard no_grad;
    layer->k_proj->bias.zero_();
    return gap(with, forward(layer, x));
  };
  CHECK(loss_of_key_bias(with_biases()) < 1e-12);
  CHECK(loss_of_key_bias(with_biases().causal(false).kv_heads(1)) < 1e-12);
  CHECK(loss_of_key_bias(with_biases().window(2)) < 1e-12);
  CHECK(loss_of_key_bias(with_biases().dropout(kDropout)) < 1e-12);
  CHECK(loss_of_key_bias(with_biases().qk_norm(true)) > 1e-3);
  CHECK(loss_of_key_bias(with_biases().soft_cap(2)) > 1e-3);
  CHECK(loss_of_key_bias(with_biases().sink(true)) > 1e-3);
  CHECK(loss_of_key_bias(with_biases().rotary_base(10000)) > 1e-3);
}

TEST_CASE("b_V goes into b_O, but for dropout on P and a sink") {
  const auto loss_of_moving = [](const nn::AttentionOptions& options) {
    torch::manual_seed(3);
    auto layer = drawn(options);
    const auto x = input(), with = forward(layer, x);
    torch::NoGradGuard no_grad;
    layer->o_proj->bias.add_(layer->o_proj->weight.matmul(layer->v_proj->bias));
    layer->v_proj->bias.zero_();
    return gap(with, forward(layer, x));
  };
  CHECK(loss_of_moving(with_biases()) < 1e-12);
  CHECK(loss_of_moving(with_biases().qk_norm(true).soft_cap(2).rotary_base(10000).window(2)) <
        1e-12);
  CHECK(loss_of_moving(with_biases().dropout(kDropout)) > 1e-3);
  CHECK(loss_of_moving(with_biases().sink(true)) > 1e-3);
}

TEST_CASE("behind LayerNorm b_Q goes into W_Q or into β, and dropping it alone does not do") {
  torch::manual_seed(4);
  auto layer = drawn(with_biases());
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({kWidth}));
  norm->to(torch::kDouble);
  torch::NoGradGuard no_grad;
  norm->weight.normal_().add_(3);
  norm->bias.normal_().add_(1);
  const auto h = input(), with = layer->forward(norm->forward(h));
  const auto weight = layer->q_proj->weight.clone(), bias = layer->q_proj->bias.clone();

  layer->q_proj->bias.zero_();
  CHECK(gap(with, layer->forward(norm->forward(h))) > 1e-3);
  const auto u = norm->weight.reciprocal() / (norm->bias / norm->weight).sum();
  layer->q_proj->weight.add_(bias.outer(u));
  CHECK(gap(with, layer->forward(norm->forward(h))) < 1e-11);

  layer->q_proj->weight.copy_(weight);
  const auto shift = torch::linalg_solve(weight, bias);
  norm->bias.add_(shift);
  CHECK(gap(with, layer->forward(norm->forward(h))) > 1e-3);
  const auto moved = layer->v_proj->weight.matmul(shift);
  layer->o_proj->bias.sub_(layer->o_proj->weight.matmul(moved));
  CHECK(gap(with, layer->forward(norm->forward(h))) < 1e-10);
}

TEST_CASE("attention has a second derivative") {
  torch::manual_seed(5);
  auto layer = drawn(with_biases().qk_norm(true).soft_cap(2).rotary_base(10000).sink(true));
  const auto parameters = layer->parameters();
  const auto first = torch::autograd::grad({layer->forward(input()).square().sum()},
                                           parameters,
                                           {},
                                           /*retain_graph=*/true,
                                           /*create_graph=*/true);
  auto length = torch::zeros({}, torch::kDouble);
  for (const auto& gradient : first) length = length + gradient.square().sum();
  for (const auto& second : torch::autograd::grad({length}, parameters)) {
    CHECK(second.isfinite().all().item<bool>());
  }
}

TEST_CASE("attention has Hugging Face's parameter names, and a clone is its equal") {
  auto layer = drawn(with_biases().qk_norm(true).sink(true));
  std::vector<std::string> names;
  for (const auto& item : layer->named_parameters()) names.push_back(item.key());
  for (const auto* name :
       {"q_proj.weight", "k_proj.bias", "o_proj.bias", "q_norm.weight", "sinks"}) {
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
  const auto x = input();
  const auto copy = std::dynamic_pointer_cast<nn::AttentionImpl>(layer->clone());
  CHECK(torch::equal(copy->forward(x), layer->forward(x)));
}

TEST_CASE("invalid attention options are refused with the rule") {
  CHECK_THROWS_WITH(nn::Attention(nn::AttentionOptions(8, 3)), Catch::Contains("got 8 and 3"));
  CHECK_THROWS_WITH(nn::Attention(nn::AttentionOptions(8, 4).kv_heads(3)),
                    Catch::Contains("got 4 and 3"));
  CHECK_THROWS_WITH(nn::Attention(nn::AttentionOptions(9, 3).rotary_base(10)),
                    Catch::Contains("even head width"));
  CHECK_THROWS_WITH(nn::Attention(nn::AttentionOptions(8, 2).dropout(1)),
                    Catch::Contains("[0, 1)"));
  nn::Attention layer(nn::AttentionOptions(8, 2));
  CHECK_THROWS_WITH(layer->forward(torch::zeros({3, 8})), Catch::Contains("[batch, tokens, 8]"));
}
