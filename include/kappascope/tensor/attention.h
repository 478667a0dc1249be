// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kappascope::tensor {

/// What enters an attention layer's softmax: queries and keys, as a fused kernel takes them, or the
/// logits where these are written out.
struct Attention {
  at::Tensor queries{};  ///< [sequences, heads, queries, d]
  at::Tensor keys{};  ///< [sequences, heads, keys, d]; the number of heads may divide that of the
                      ///< queries (grouped queries)
  /// Undefined: none. bool (true: may attend) or added to the logits; broadcast to these.
  at::Tensor mask{};
  double scale = 0;        ///< that the products are multiplied by; 0: 1/√d
  bool causal = false;     ///< a query attends to the keys up to its own place alone
  at::Tensor positions{};  ///< [queries] their places; undefined: 0, 1, 2, …
  at::Tensor logits{};     ///< [sequences, heads, queries, keys]; then all else is undefined
};

/// Copies of at most kAttentionSequences sequences and of kAttentionQueries queries of each, spread
/// evenly over those that there are. Throws Error where the shapes do not fit.
inline constexpr std::int64_t kAttentionSequences = 4, kAttentionQueries = 64;
Attention sampled(const Attention& attention);

/// What its logits say, over the keys that may be attended to; a mask may be -∞ or the smallest
/// number of its type. In float32 or better.
struct AttentionSummary {
  at::Tensor largest;  ///< [heads] the largest logit; -∞ where there is none
  /// [sequences, heads] mean over the queries of the softmax's entropy over that of attending to
  /// all its keys alike: 1 where a head looks everywhere, 0 where it looks at one token. Queries
  /// with one key are left out; NaN where there is no other.
  at::Tensor entropy;
};
AttentionSummary summarise(const Attention& attention);

}  // namespace kappascope::tensor
