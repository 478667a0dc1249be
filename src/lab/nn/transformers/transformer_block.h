// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <string>

#include "lab/nn/attention.h"
#include "lab/nn/feed_forward_kinds.h"
#include "lab/nn/norms.h"

namespace kappascope::nn {

/// Pre: x + f(norm(x)). Post: norm(x + f(x)). Sandwich: x + norm(f(norm(x))) (Gemma 3).
enum class NormOrder { kPre, kPost, kSandwich };
NormOrder parse_norm_order(const std::string& name);  ///< pre, post, sandwich; throws UsageError

struct TransformerBlockOptions {
  TransformerBlockOptions(const AttentionOptions& attention, const FeedForwardOptions& mlp)
      : attention_(attention), mlp_(mlp), norm_(attention_.width()) {}
  TORCH_ARG(AttentionOptions, attention);
  TORCH_ARG(FeedForwardOptions, mlp);  ///< of the same width
  TORCH_ARG(NormOptions, norm);        ///< of the same width
  TORCH_ARG(NormOrder, order) = NormOrder::kPre;
  /// Probability of zeroing what each of the two branches adds (Phi-3's residual dropout).
  TORCH_ARG(double, dropout) = 0.0;
};

/// Attention, then a feed-forward layer, each around a sum. Input and output [batch, tokens,
/// width]. Parameters as Hugging Face names them: `self_attn`, `mlp`, and the norms
///   pre:      `input_layernorm`, `post_attention_layernorm` (which stands before the MLP)
///   post:     `post_attention_layernorm`, `post_feedforward_layernorm`
///   sandwich: both around each branch, `pre_feedforward_layernorm` before the MLP.
class TransformerBlockImpl : public torch::nn::Cloneable<TransformerBlockImpl> {
 public:
  explicit TransformerBlockImpl(const TransformerBlockOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& x);

  TransformerBlockOptions options;
  /// In training keeps the input alone for the backward pass, which runs the block once more.
  bool recompute = false;
  Attention self_attn{nullptr};
  std::shared_ptr<FeedForward> mlp;
  Norm input_layernorm{nullptr}, post_attention_layernorm{nullptr};
  Norm pre_feedforward_layernorm{nullptr}, post_feedforward_layernorm{nullptr};

 private:
  torch::Tensor pass(const torch::Tensor& x);
};
TORCH_MODULE(TransformerBlock);

/// Switches `recompute` of every block of `module`: less memory for about a third more time.
void set_recompute(torch::nn::Module& module, bool recompute);

/// Of learnable numbers, without making the block.
int64_t parameter_count(const TransformerBlockOptions& options);

}  // namespace kappascope::nn
