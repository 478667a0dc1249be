// SPDX-License-Identifier: Apache-2.0
#include "kappascope/nn/attention.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "kappascope/core/error.h"

namespace kappascope::nn {
namespace {

/// Fills in what a zero stands for, and refuses what cannot be meant.
AttentionOptions resolved(AttentionOptions options) {
  require(options.width() > 0 && options.heads() > 0,
          "attention needs a width and at least one head, got ",
          options.width(),
          " and ",
          options.heads());
  if (options.head_width() == 0) {
    require(options.width() % options.heads() == 0,
            "the width must be a multiple of the heads unless head_width is given, got ",
            options.width(),
            " and ",
            options.heads());
    options.head_width(options.width() / options.heads());
  }
  if (options.kv_heads() == 0) options.kv_heads(options.heads());
  require(options.kv_heads() > 0 && options.heads() % options.kv_heads() == 0,
          "heads must be a multiple of kv_heads, got ",
          options.heads(),
          " and ",
          options.kv_heads());
  require(
      options.rotary_base() == 0 || (options.rotary_base() > 0 && options.head_width() % 2 == 0),
      "rotary embedding needs a positive base and an even head width, got ",
      options.rotary_base(),
      " and ",
      options.head_width());
  require(options.dropout() >= 0 && options.dropout() < 1,
          "dropout must be in [0, 1), got ",
          options.dropout());
  require(options.window() >= 0 && options.soft_cap() >= 0,
          "window and soft_cap must be at least 0, got ",
          options.window(),
          " and ",
          options.soft_cap());
  if (options.scale() == 0) options.scale(1 / std::sqrt(options.head_width()));
  return options;
}

/// x: [..., tokens, d], token n turned by n steps. Coordinates i and i + d/2 form plane i.
torch::Tensor rotate(const torch::Tensor& x, double base) {
  const auto tokens = x.size(-2), planes = x.size(-1) / 2;
  const auto in_double = torch::TensorOptions(torch::kDouble).device(x.device());
  const auto exponents = torch::arange(planes, in_double) / static_cast<double>(planes);
  const auto angles = torch::arange(tokens, in_double).unsqueeze(1) * torch::pow(base, -exponents);
  const auto cosine = angles.cos().to(x.scalar_type()), sine = angles.sin().to(x.scalar_type());
  const auto halves = x.split(planes, -1);
  return torch::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine},
                    -1);
}

/// [tokens, tokens], true where token n (row) does not see token i (column).
torch::Tensor hidden(int64_t tokens, const AttentionOptions& options, torch::Device device) {
  const auto position = torch::arange(tokens, torch::TensorOptions(torch::kLong).device(device));
  const auto distance = position.unsqueeze(1) - position;  // n - i
  auto out = torch::zeros_like(distance, torch::kBool);
  if (options.causal()) out = out | distance.lt(0);
  if (options.window() > 0) out = out | distance.abs().ge(options.window());
  return out;
}

}  // namespace

AttentionImpl::AttentionImpl(const AttentionOptions& options_) : options(resolved(options_)) {
  AttentionImpl::reset();
}

void AttentionImpl::reset() {
  const auto linear = [](int64_t in, int64_t out, bool bias) {
    return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(bias));
  };
  const auto width = options.width(), q_width = options.heads() * options.head_width(),
             kv_width = options.kv_heads() * options.head_width();
  q_proj = register_module("q_proj", linear(width, q_width, options.q_bias()));
  k_proj = register_module("k_proj", linear(width, kv_width, options.k_bias()));
  v_proj = register_module("v_proj", linear(width, kv_width, options.v_bias()));
  o_proj = register_module("o_proj", linear(q_width, width, options.o_bias()));
  if (options.qk_norm()) {
    const auto norm = RMSNormOptions(options.head_width())
                          .eps(options.norm_eps())
                          .plus_one(options.norm_plus_one());
    q_norm = register_module("q_norm", RMSNorm(norm));
    k_norm = register_module("k_norm", RMSNorm(norm));
  }
  if (options.sink()) sinks = register_parameter("sinks", torch::zeros({options.heads()}));
}

/// q, k: [batch, heads, tokens, head_width]; returns P before dropout, [batch, heads, tokens,
/// tokens].
torch::Tensor AttentionImpl::weights(const torch::Tensor& q, const torch::Tensor& k) {
  const auto batch = q.size(0), tokens = q.size(2);
  auto scores = q.matmul(k.transpose(-2, -1)) * options.scale();
  if (const double cap = options.soft_cap(); cap > 0) scores = cap * torch::tanh(scores / cap);
  if (options.causal() || options.window() > 0) {
    scores = scores.masked_fill(hidden(tokens, options, q.device()),
                                -std::numeric_limits<double>::infinity());
  }
  if (!sinks.defined()) return torch::softmax(scores, -1);
  const auto column = sinks.view({1, -1, 1, 1}).expand({batch, options.heads(), tokens, 1});
  return torch::softmax(torch::cat({scores, column}, -1), -1).narrow(-1, 0, tokens);
}

torch::Tensor AttentionImpl::forward(const torch::Tensor& x) {
  require(x.dim() == 3 && x.size(2) == options.width(),
          "attention takes [batch, tokens, ",
          options.width(),
          "], got ",
          x.sizes());
  const auto batch = x.size(0), tokens = x.size(1);
  const auto split = [&](const torch::Tensor& flat, int64_t heads) {
    return flat.view({batch, tokens, heads, options.head_width()}).transpose(1, 2);
  };
  auto q = split(q_proj->forward(x), options.heads());
  auto k = split(k_proj->forward(x), options.kv_heads());
  auto v = split(v_proj->forward(x), options.kv_heads());
  if (options.qk_norm()) {
    q = q_norm->forward(q);
    k = k_norm->forward(k);
  }
  if (options.rotary_base() > 0) {
    q = rotate(q, options.rotary_base());
    k = rotate(k, options.rotary_base());
  }
  if (const auto group = options.heads() / options.kv_heads(); group > 1) {
    k = k.repeat_interleave(group, 1);
    v = v.repeat_interleave(group, 1);
  }
  auto p = weights(q, k);
  if (is_training() && options.dropout() > 0) p = torch::dropout(p, options.dropout(), true);
  return o_proj->forward(p.matmul(v).transpose(1, 2).reshape({batch, tokens, -1}));
}

}  // namespace kappascope::nn
