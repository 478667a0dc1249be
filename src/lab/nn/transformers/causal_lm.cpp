// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/transformers/causal_lm.h"

#include <fmt/ranges.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/types.h>

#include <cmath>

#include "core/require.h"
#include "lab/nn/linear.h"
#include "lab/nn/transformers/initialise.h"

namespace kappascope::nn {

TransformerBlockOptions block_options(const CausalLmOptions& options, int64_t layer) {
  auto block = options.block();
  if ((layer + 1) % options.global_every() != 0) {
    block.attention().window(options.local_window()).rotary_base(options.local_rotary_base());
  }
  return block;
}

DecoderImpl::DecoderImpl(const CausalLmOptions& options_) : options(options_) {
  DecoderImpl::reset();
}

void DecoderImpl::reset() {
  const auto& norm_options = options.block().norm();
  embed_tokens = register_module("embed_tokens",
                                 torch::nn::Embedding(options.vocabulary(), norm_options.width()));
  layers = register_module("layers", torch::nn::ModuleList());
  for (int64_t i = 0; i < options.layers(); ++i) {
    layers->push_back(TransformerBlock(block_options(options, i)));
  }
  norm = register_module("norm", Norm(norm_options));
}

torch::Tensor DecoderImpl::forward(const torch::Tensor& ids) {
  auto h = embed_tokens->forward(ids);
  if (options.scaled_embeddings()) {
    h = h * std::sqrt(static_cast<double>(options.block().norm().width()));
  }
  for (const auto& layer : *layers) h = layer->as<TransformerBlock>()->forward(h);
  return norm->forward(h);
}

CausalLmImpl::CausalLmImpl(const CausalLmOptions& options_) : options(options_) {
  require(
      options.vocabulary() > 0 && options.layers() > 0 && options.global_every() > 0,
      "a language model needs at least one token, layer and global layer, got {}, {} and one in {}",
      options.vocabulary(),
      options.layers(),
      options.global_every());
  require(options.global_every() == 1 || options.local_window() > 0,
          "local layers need a window of at least 1, got {}",
          options.local_window());
  require(options.block().attention().causal(), "a language model's attention must be causal");
  CausalLmImpl::reset();
}

void CausalLmImpl::reset() {
  model = register_module("model", Decoder(options));
  if (!options.tied()) {
    lm_head = register_module(
        "lm_head", linear(options.block().norm().width(), options.vocabulary(), /*bias=*/false));
  }
  initialise(*this, options.initial_deviation());
}

torch::Tensor CausalLmImpl::forward(const torch::Tensor& ids) {
  require(ids.dim() == 2, "a language model takes ids [batch, tokens], got {}", ids.sizes());
  return torch::linear(model->forward(ids), head());
}

const torch::Tensor& CausalLmImpl::head() const {
  return lm_head ? lm_head->weight : model->embed_tokens->weight;
}

int64_t parameter_count(const CausalLmOptions& options) {
  const auto& norm = options.block().norm();
  const auto matrix = options.vocabulary() * norm.width();
  return matrix * (options.tied() ? 1 : 2) + options.layers() * parameter_count(options.block()) +
         parameter_count(norm);
}

}  // namespace kappascope::nn
