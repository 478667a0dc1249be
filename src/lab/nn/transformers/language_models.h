// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/nn/transformers/causal_lm.h"

/// The language models of the documents, as options of CausalLm. All share: no bias anywhere,
/// rotary positions, RMS norms with eps 1e-6, fused attention, for speed in training; switch it off
/// with set_fused_attention for exact second derivatives.
namespace kappascope::nn {

struct LmSize {
  int64_t vocabulary = 0;
  int64_t layers = 0;
  int64_t width = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;    ///< 0: as many as heads
  int64_t head_width = 0;  ///< 0: width/heads
  int64_t hidden = 0;      ///< d_ff
};

CausalLmOptions llama(const LmSize& size);
/// Llama with one matrix for Q, K, V and one for gate and up; eps 1e-5.
CausalLmOptions phi3(const LmSize& size);
/// Llama with RMS norms of every query and key head, rotary base 1e6 and tied embeddings.
CausalLmOptions qwen3(const LmSize& size);
/// GELU-tanh gates, norms around both branches and of query and key heads, all with 1 + weight,
/// scaled and tied embeddings, scores over √head_width, rotary base 1e6; of six layers five see
/// `window` tokens only, with rotary base 1e4. `gated_dropout`: the paper's own change, "dropout
/// after the gated product" ("Post-gating bias", section 4.2), the probability of zeroing.
CausalLmOptions gemma3(const LmSize& size, int64_t window, double gated_dropout = 0);

/// Puts biases into a model: the feed-forward layers' and, where `norms`, a learnable shift in
/// every norm of a block and the last. The paper's four configurations are kNone and kPostGating
/// with `norms` false and true. Norms of query and key heads keep none.
CausalLmOptions with_biases(CausalLmOptions options, BiasPlacement mlp, bool norms);
/// Puts another feed-forward layer into every block; it must be of the model's width.
CausalLmOptions with_feed_forward(CausalLmOptions options, const FeedForwardOptions& mlp);

/// Models by name:
///   qwen3-134m   12 layers, 768 wide, 12 heads, 3,072 feed-forward ("Gated MLP with Isotropy
///                Maintenance", 4.1; ASGER's baseline). No vocabulary is printed, and with that of
///                GPT-2 the count would be 151.9M; 27,008 tokens, tied, give the 134M of both.
///   phi3-mini    3.8B as published; the paper names no size of its own
///   gemma3-1b    the smallest that was published with the paper's source
///   qwen3-small, phi3-small, gemma3-small
///                bytes, 4 layers, 128 wide, 4 heads: minutes on two cores
CausalLmOptions language_model(const std::string& name);  ///< throws UsageError
std::vector<std::string> language_model_names();

}  // namespace kappascope::nn
