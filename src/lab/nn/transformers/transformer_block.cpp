// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/transformers/transformer_block.h"

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <memory>

#include "core/require.h"
#include "lab/nn/recompute.h"

namespace kappascope::nn {

NormOrder parse_norm_order(const std::string& name) {
  if (name == "pre") return NormOrder::kPre;
  if (name == "post") return NormOrder::kPost;
  if (name == "sandwich") return NormOrder::kSandwich;
  throw UsageError("unknown norm order '" + name + "': use pre, post or sandwich");
}

TransformerBlockImpl::TransformerBlockImpl(const TransformerBlockOptions& options_)
    : options(options_) {
  const auto width = options.attention().width();
  require(width_of(options.mlp()) == width && options.norm().width() == width,
          "the parts of a block must have one width, got {}, {} and {}",
          width,
          width_of(options.mlp()),
          options.norm().width());
  require(options.dropout() >= 0 && options.dropout() < 1,
          "dropout must be in [0, 1), got {}",
          options.dropout());
  TransformerBlockImpl::reset();
}

void TransformerBlockImpl::reset() {
  const auto norm = [&](const char* name) { return register_module(name, Norm(options.norm())); };
  const auto order = options.order();
  if (order != NormOrder::kPost) input_layernorm = norm("input_layernorm");
  self_attn = register_module("self_attn", Attention(options.attention()));
  post_attention_layernorm = norm("post_attention_layernorm");
  if (order == NormOrder::kSandwich) pre_feedforward_layernorm = norm("pre_feedforward_layernorm");
  mlp = make_feed_forward(options.mlp());
  register_module("mlp", std::dynamic_pointer_cast<torch::nn::Module>(mlp));
  if (order != NormOrder::kPre) post_feedforward_layernorm = norm("post_feedforward_layernorm");
}

torch::Tensor TransformerBlockImpl::forward(const torch::Tensor& x) {
  if (!recompute || !is_training() || !torch::GradMode::is_enabled()) return pass(x);
  const auto self = std::static_pointer_cast<TransformerBlockImpl>(shared_from_this());
  return recomputed([self](const torch::Tensor& in) { return self->pass(in); }, x, parameters());
}

torch::Tensor TransformerBlockImpl::pass(const torch::Tensor& x) {
  const auto drop = [&](const torch::Tensor& branch) {
    return torch::dropout(branch, options.dropout(), is_training());
  };
  switch (options.order()) {
    case NormOrder::kPre: {
      const auto h = x + drop(self_attn->forward(input_layernorm->forward(x)));
      return h + drop(mlp->forward(post_attention_layernorm->forward(h)));
    }
    case NormOrder::kPost: {
      const auto h = post_attention_layernorm->forward(x + drop(self_attn->forward(x)));
      return post_feedforward_layernorm->forward(h + drop(mlp->forward(h)));
    }
    case NormOrder::kSandwich: {
      const auto a = drop(self_attn->forward(input_layernorm->forward(x)));
      const auto h = x + post_attention_layernorm->forward(a);
      const auto z = drop(mlp->forward(pre_feedforward_layernorm->forward(h)));
      return h + post_feedforward_layernorm->forward(z);
    }
  }
  throw Error("unknown norm order");
}

void set_recompute(torch::nn::Module& module, bool recompute) {
  for (const auto& part : module.modules(/*include_self=*/true)) {
    if (auto* block = dynamic_cast<TransformerBlockImpl*>(part.get())) block->recompute = recompute;
  }
}

int64_t parameter_count(const TransformerBlockOptions& options) {
  const int64_t norms = options.order() == NormOrder::kSandwich ? 4 : 2;
  return parameter_count(options.attention()) + parameter_count(options.mlp()) +
         norms * parameter_count(options.norm());
}

}  // namespace kappascope::nn
