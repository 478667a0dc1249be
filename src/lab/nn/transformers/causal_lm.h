// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <utility>

#include "lab/nn/transformers/transformer_block.h"

namespace kappascope::nn {

struct CausalLmOptions {
  CausalLmOptions(int64_t vocabulary, int64_t layers, const TransformerBlockOptions& block)
      : vocabulary_(vocabulary), layers_(layers), block_(block) {}
  TORCH_ARG(int64_t, vocabulary);
  TORCH_ARG(int64_t, layers);
  TORCH_ARG(TransformerBlockOptions, block);  ///< of every layer; its attention is causal
  /// The output layer is the embedding's matrix, and there is no `lm_head.weight`.
  TORCH_ARG(bool, tied) = false;
  /// Multiplies embeddings by √width, as Gemma does.
  TORCH_ARG(bool, scaled_embeddings) = false;
  /// Every n-th layer attends as `block` says, the others locally; 1: no layer is local.
  TORCH_ARG(int64_t, global_every) = 1;
  TORCH_ARG(int64_t, local_window) = 0;          ///< `window` of local layers
  TORCH_ARG(double, local_rotary_base) = 10000;  ///< `rotary_base` of local layers
  /// Weights start normal with this deviation, as Hugging Face starts all of these models; what an
  /// IsoGMLP starts orthogonal stays so.
  TORCH_ARG(double, initial_deviation) = 0.02;
};

/// The layer's own block: local or global.
TransformerBlockOptions block_options(const CausalLmOptions& options, int64_t layer);

/// Token embeddings, blocks, a last norm: [batch, tokens] of ids to [batch, tokens, width].
class DecoderImpl : public torch::nn::Cloneable<DecoderImpl> {
 public:
  explicit DecoderImpl(const CausalLmOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& ids);

  CausalLmOptions options;
  torch::nn::Embedding embed_tokens{nullptr};
  torch::nn::ModuleList layers{nullptr};
  Norm norm{nullptr};
};
TORCH_MODULE(Decoder);

/// A decoder language model: ids [batch, tokens], each in [0, vocabulary), to logits [batch,
/// tokens, vocabulary] of the next token. Parameters as Hugging Face names them:
/// `model.embed_tokens.weight`, `model.layers.N.` and what TransformerBlock has,
/// `model.norm.weight`, and unless tied `lm_head.weight`.
class CausalLmImpl : public torch::nn::Cloneable<CausalLmImpl> {
 public:
  explicit CausalLmImpl(const CausalLmOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& ids);

  /// The matrix that makes logits of what `model` returns: [vocabulary, width].
  [[nodiscard]] const torch::Tensor& head() const;

  CausalLmOptions options;
  Decoder model{nullptr};
  torch::nn::Linear lm_head{nullptr};  ///< empty if tied
};
TORCH_MODULE(CausalLm);

/// Of learnable numbers, without making the model; a tied matrix counts once.
int64_t parameter_count(const CausalLmOptions& options);

}  // namespace kappascope::nn
