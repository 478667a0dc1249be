// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "lab/nn/norms.h"

namespace kappascope::nn {

struct AttentionOptions {
  AttentionOptions(int64_t width, int64_t heads) : width_(width), heads_(heads) {}
  TORCH_ARG(int64_t, width);  ///< d_model
  TORCH_ARG(int64_t, heads);  ///< of queries
  /// Heads of keys and values, each read by heads/kv_heads query heads; 0: as many as `heads`.
  TORCH_ARG(int64_t, kv_heads) = 0;
  /// 0: width/heads.
  TORCH_ARG(int64_t, head_width) = 0;
  TORCH_ARG(bool, q_bias) = false;
  TORCH_ARG(bool, k_bias) = false;
  TORCH_ARG(bool, v_bias) = false;
  TORCH_ARG(bool, o_bias) = false;
  /// One matrix W_q over W_k over W_v, as Phi-3 keeps them. Its bias is asked for by `q_bias`,
  /// `k_bias` and `v_bias` together.
  TORCH_ARG(bool, joint_qkv) = false;
  /// RMS norm of every query and key head before rotary (Qwen3, Gemma 3).
  TORCH_ARG(bool, qk_norm) = false;
  TORCH_ARG(double, norm_eps) = 1e-6;
  TORCH_ARG(bool, norm_plus_one) = false;  ///< as in NormOptions
  /// θ of rotary position embeddings: plane i turns by θ^(-2i/head_width) a position (10000 in
  /// Llama); 0: none.
  TORCH_ARG(double, rotary_base) = 0;
  /// What the scores are multiplied with; 0: 1/√head_width.
  TORCH_ARG(double, scale) = 0;
  /// c in c·tanh(score/c) (Gemma 2); 0: no soft-capping.
  TORCH_ARG(double, soft_cap) = 0;
  /// No token sees a later one.
  TORCH_ARG(bool, causal) = true;
  /// A token sees only tokens less than this far away; 0: all.
  TORCH_ARG(int64_t, window) = 0;
  /// Probability of zeroing an attention weight; kept ones are scaled by 1/(1-dropout).
  TORCH_ARG(double, dropout) = 0.0;
  /// A learnable logit per head that takes weight and gives no value (gpt-oss).
  TORCH_ARG(bool, sink) = false;
  /// Computes softmax(QKᵀ)V by LibTorch's fused kernel, which is faster, keeps no [tokens, tokens]
  /// matrix and has no second derivative; where LibTorch has none for the case (dropout on the
  /// CPU), it writes the same out. Not with `soft_cap` or `sink`.
  TORCH_ARG(bool, fused) = false;
};

/// Self-attention with grouped queries. Input and output [batch, tokens, width]; positions count
/// from 0. Parameters as Hugging Face names them: `q_proj`, `k_proj`, `v_proj` or `qkv_proj`, then
/// `o_proj`, and where asked `q_norm`, `k_norm`, `sinks` [heads]. Biases start at zero and draw no
/// random number. Written out unless `fused`: O(tokens²) memory per head. A window shorter than the
/// tokens takes a table of tokens² bytes where fused, too: scaled_dot_product_attention has none.
/// Tables of positions are kept between calls and made anew when the number of tokens, the type or
/// the device changes; one layer must not run in two threads at once.
class AttentionImpl : public torch::nn::Cloneable<AttentionImpl> {
 public:
  explicit AttentionImpl(const AttentionOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& x);

  AttentionOptions options;  ///< with the zeros filled in; `fused` may be switched at any time
  torch::nn::Linear q_proj{nullptr}, k_proj{nullptr}, v_proj{nullptr};  ///< empty where joint
  torch::nn::Linear qkv_proj{nullptr};                                  ///< empty where not
  torch::nn::Linear o_proj{nullptr};
  Norm q_norm{nullptr}, k_norm{nullptr};
  torch::Tensor sinks;

 private:
  struct Positions {
    torch::Tensor cosine, sine;  ///< of the rotary angles: [tokens, head_width/2]
    /// [tokens, tokens], true where row does not see column; undefined where nothing is hidden, or
    /// where the kernel knows it.
    torch::Tensor hidden;
  };
  void update_positions(const torch::Tensor& q);
  [[nodiscard]] bool kernel_masks(int64_t tokens) const;
  [[nodiscard]] torch::Tensor rotate(const torch::Tensor& x) const;
  [[nodiscard]] torch::Tensor by_group(const torch::Tensor& left, const torch::Tensor& right) const;
  torch::Tensor weights(const torch::Tensor& q, const torch::Tensor& k);
  torch::Tensor fused_attention(const torch::Tensor& q,
                                const torch::Tensor& k,
                                const torch::Tensor& v);

  Positions positions_;
  int64_t tokens_ = 0;  ///< that positions_ is made for
};
TORCH_MODULE(Attention);

/// Of learnable numbers, without making the layer.
int64_t parameter_count(const AttentionOptions& options);

/// Switches every attention layer of `module`: on to train, off for exact second derivatives.
/// Throws Error where a layer's options forbid the fused kernel.
void set_fused_attention(torch::nn::Module& module, bool fused);

}  // namespace kappascope::nn
