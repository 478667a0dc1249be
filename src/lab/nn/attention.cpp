// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/attention.h"

#include <fmt/ranges.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <optional>

#include "core/require.h"
#include "lab/nn/linear.h"

namespace kappascope::nn {
namespace {

void check_fused(const AttentionOptions& options) {
  require(!options.fused() || (options.soft_cap() == 0 && !options.sink()),
          "the fused kernel knows neither a soft cap nor a sink");
}

/// Replaces zeros by the defaults that they stand for, and refuses invalid options.
AttentionOptions resolved(AttentionOptions options) {
  require(options.width() > 0 && options.heads() > 0,
          "attention needs a width and at least one head, got {} and {}",
          options.width(),
          options.heads());
  if (options.head_width() == 0) {
    require(options.width() % options.heads() == 0,
            "the width must be a multiple of the heads unless head_width is given, got {} and {}",
            options.width(),
            options.heads());
    options.head_width(options.width() / options.heads());
  }
  if (options.kv_heads() == 0) options.kv_heads(options.heads());
  require(options.kv_heads() > 0 && options.heads() % options.kv_heads() == 0,
          "heads must be a multiple of kv_heads, got {} and {}",
          options.heads(),
          options.kv_heads());
  require(
      options.rotary_base() == 0 || (options.rotary_base() > 0 && options.head_width() % 2 == 0),
      "rotary embedding needs a positive base and an even head width, got {} and {}",
      options.rotary_base(),
      options.head_width());
  require(options.dropout() >= 0 && options.dropout() < 1,
          "dropout must be in [0, 1), got {}",
          options.dropout());
  require(options.window() >= 0 && options.soft_cap() >= 0,
          "window and soft_cap must be at least 0, got {} and {}",
          options.window(),
          options.soft_cap());
  const int biases =
      (options.q_bias() ? 1 : 0) + (options.k_bias() ? 1 : 0) + (options.v_bias() ? 1 : 0);
  require(!options.joint_qkv() || biases == 0 || biases == 3,
          "a joint Q, K, V projection has all three biases or none, got {}",
          biases);
  check_fused(options);
  if (options.scale() == 0) options.scale(1 / std::sqrt(options.head_width()));
  return options;
}

}  // namespace

AttentionImpl::AttentionImpl(const AttentionOptions& options_) : options(resolved(options_)) {
  AttentionImpl::reset();
}

void AttentionImpl::reset() {
  const auto width = options.width(), q_width = options.heads() * options.head_width(),
             kv_width = options.kv_heads() * options.head_width();
  if (options.joint_qkv()) {
    qkv_proj = register_module("qkv_proj", linear(width, q_width + 2 * kv_width, options.q_bias()));
  } else {
    q_proj = register_module("q_proj", linear(width, q_width, options.q_bias()));
    k_proj = register_module("k_proj", linear(width, kv_width, options.k_bias()));
    v_proj = register_module("v_proj", linear(width, kv_width, options.v_bias()));
  }
  o_proj = register_module("o_proj", linear(q_width, width, options.o_bias()));
  if (options.qk_norm()) {
    const auto norm =
        NormOptions(options.head_width()).eps(options.norm_eps()).plus_one(options.norm_plus_one());
    q_norm = register_module("q_norm", Norm(norm));
    k_norm = register_module("k_norm", Norm(norm));
  }
  if (options.sink()) sinks = register_parameter("sinks", torch::zeros({options.heads()}));
}

/// q: [batch, heads, tokens, head_width]
void AttentionImpl::update_positions(const torch::Tensor& q) {
  const auto tokens = q.size(2);
  const auto fits = [&](const torch::Tensor& table) {
    return !table.defined() || table.device() == q.device();
  };
  const bool masked = (options.causal() || options.window() > 0) && !kernel_masks(tokens);
  if (tokens == tokens_ && fits(positions_.cosine) && fits(positions_.hidden) &&
      masked == positions_.hidden.defined() &&
      (!positions_.cosine.defined() || positions_.cosine.scalar_type() == q.scalar_type())) {
    return;
  }
  // A table made under inference mode could not be used in training afterwards.
  const c10::InferenceMode ordinary(false);
  const torch::NoGradGuard no_grad;
  positions_ = {};
  tokens_ = tokens;
  if (const double base = options.rotary_base(); base > 0) {
    const auto planes = options.head_width() / 2;
    const auto in_double = torch::TensorOptions(torch::kDouble).device(q.device());
    const auto exponents = torch::arange(planes, in_double) / static_cast<double>(planes);
    const auto angles =
        torch::arange(tokens, in_double).unsqueeze(1) * torch::pow(base, -exponents);
    positions_.cosine = angles.cos().to(q.scalar_type());
    positions_.sine = angles.sin().to(q.scalar_type());
  }
  if (!masked) return;
  // Compared without their differences, which would take eight times the table's memory.
  const auto i = torch::arange(tokens, torch::TensorOptions(torch::kLong).device(q.device()));
  const auto n = i.unsqueeze(1);
  const auto window = options.window();
  const auto later = n < (options.causal() ? i : i - (window - 1));
  positions_.hidden = window > 0 ? later | (n - window >= i) : later;
}

/// Whether the fused kernel needs no table of what is hidden: a causal mask alone is its own.
bool AttentionImpl::kernel_masks(int64_t tokens) const {
  return options.fused() && options.causal() &&
         (options.window() == 0 || options.window() >= tokens);
}

/// x: [..., tokens, d], token n turned by n steps. Coordinates i and i + d/2 form plane i.
torch::Tensor AttentionImpl::rotate(const torch::Tensor& x) const {
  const auto halves = x.chunk(2, -1);
  const auto &cosine = positions_.cosine, &sine = positions_.sine;
  return torch::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine},
                    -1);
}

/// left: [batch, heads, tokens, n], right: [batch, kv_heads, n, m]; the products of each head with
/// the right side that it shares, [batch, heads, tokens, m]. The heads of a group are rows of one
/// product, so that nothing is copied for them.
torch::Tensor AttentionImpl::by_group(const torch::Tensor& left, const torch::Tensor& right) const {
  const auto batch = left.size(0), kv = options.kv_heads();
  if (kv == options.heads()) return left.matmul(right);
  return left.reshape({batch, kv, -1, left.size(3)})
      .matmul(right)
      .view({batch, options.heads(), left.size(2), -1});
}

/// q: [batch, heads, tokens, head_width], k: the same of kv_heads; returns P before dropout,
/// [batch, heads, tokens, tokens].
torch::Tensor AttentionImpl::weights(const torch::Tensor& q, const torch::Tensor& k) {
  const auto batch = q.size(0), tokens = q.size(2);
  auto scores = by_group(q * options.scale(), k.transpose(-2, -1));
  if (const double cap = options.soft_cap(); cap > 0) scores = cap * torch::tanh(scores / cap);
  if (positions_.hidden.defined()) {
    scores = scores.masked_fill(positions_.hidden, -std::numeric_limits<double>::infinity());
  }
  if (!sinks.defined()) return torch::softmax(scores, -1);
  const auto column = sinks.view({1, -1, 1, 1}).expand({batch, options.heads(), tokens, 1});
  return torch::softmax(torch::cat({scores, column}, -1), -1).narrow(-1, 0, tokens);
}

torch::Tensor AttentionImpl::fused_attention(const torch::Tensor& q,
                                             const torch::Tensor& k,
                                             const torch::Tensor& v) {
  check_fused(options);
  std::optional<torch::Tensor> sees;
  if (positions_.hidden.defined()) sees = positions_.hidden.logical_not();
  return torch::scaled_dot_product_attention(q,
                                             k,
                                             v,
                                             sees,
                                             is_training() ? options.dropout() : 0.0,
                                             /*is_causal=*/kernel_masks(tokens_),
                                             options.scale(),
                                             /*enable_gqa=*/options.kv_heads() < options.heads());
}

torch::Tensor AttentionImpl::forward(const torch::Tensor& x) {
  require(x.dim() == 3 && x.size(2) == options.width(),
          "attention takes [batch, tokens, {}], got {}",
          options.width(),
          x.sizes());
  const auto batch = x.size(0), tokens = x.size(1), head = options.head_width();
  const auto split = [&](const torch::Tensor& flat) {
    return flat.view({batch, tokens, -1, head}).transpose(1, 2);
  };
  torch::Tensor q, k, v;
  if (options.joint_qkv()) {
    const auto kv = options.kv_heads();
    const auto parts = split(qkv_proj->forward(x)).split_with_sizes({options.heads(), kv, kv}, 1);
    q = parts[0], k = parts[1], v = parts[2];
  } else {
    q = split(q_proj->forward(x)), k = split(k_proj->forward(x)), v = split(v_proj->forward(x));
  }
  if (options.qk_norm()) {
    q = q_norm->forward(q);
    k = k_norm->forward(k);
  }
  update_positions(q);
  if (options.rotary_base() > 0) {
    q = rotate(q);
    k = rotate(k);
  }
  torch::Tensor heads;
  if (options.fused()) {
    heads = fused_attention(q, k, v);
  } else {
    auto p = weights(q, k);
    if (is_training() && options.dropout() > 0) p = torch::dropout(p, options.dropout(), true);
    heads = by_group(p, v);
  }
  return o_proj->forward(heads.transpose(1, 2).reshape({batch, tokens, -1}));
}

int64_t parameter_count(const AttentionOptions& options) {
  const auto full = resolved(options);
  const auto heads = full.heads(), kv = full.kv_heads(), head = full.head_width();
  int64_t count = options.width() * head * (2 * heads + 2 * kv);
  if (options.q_bias()) count += heads * head;
  if (options.k_bias()) count += kv * head;
  if (options.v_bias()) count += kv * head;
  if (options.o_bias()) count += options.width();
  if (options.qk_norm()) count += 2 * head;
  if (options.sink()) count += heads;
  return count;
}

void set_fused_attention(torch::nn::Module& module, bool fused) {
  const auto set = [fused](torch::nn::Module& part) {
    auto* attention = dynamic_cast<AttentionImpl*>(&part);
    if (attention == nullptr) return;
    auto options = attention->options;
    check_fused(options.fused(fused));
    attention->options = options;
  };
  set(module);
  for (const auto& part : module.modules(/*include_self=*/false)) set(*part);
}

}  // namespace kappascope::nn
