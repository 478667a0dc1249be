// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kappascope::tensor {

/// One pass of the router of a mixture of experts: what enters it, and what it multiplies that
/// with.
struct RouterPass {
  at::Tensor rows{};        ///< [..., d]
  at::Tensor weight{};      ///< [experts, d]
  at::Tensor bias{};        ///< [experts]; undefined: none
  at::Tensor mask{};        ///< a number for each row: whether it counts; undefined: all do
  std::int64_t chosen = 0;  ///< experts that a token is sent to; 0: not known
  /// The rows are so many sequences, one after the other, of as many tokens each. 0: nobody knows,
  /// and they count as one, as tokens are not independent.
  std::int64_t sequences = 0;
};

/// The logits of some tokens of one pass.
struct Routing {
  at::Tensor logits{};      ///< [sequences, tokens, experts], in float32 or better
  at::Tensor mask{};        ///< [sequences, tokens] bool: tokens that count; undefined: all
  std::int64_t chosen = 0;  ///< as RouterPass has it

  /// Whether a token is sent to some of the experts, and not to others.
  [[nodiscard]] bool chooses() const { return chosen > 0 && chosen < logits.size(-1); }
};

/// Rows of a pass that are looked at, at most.
inline constexpr std::int64_t kRouterRows = 256;

/// Of at most kRouterRows rows, evenly from at most 16 sequences, which are evenly from all. Throws
/// Error where the shapes do not fit. Cost: a product of these rows with the weight, in float32 or
/// better whatever autocast and TF32 say.
Routing sample_routing(const RouterPass& pass);

/// Rounding to bfloat16 moves a number by at most this share of it: half a unit in the last of its
/// 8 binary places.
inline constexpr double kRoundsBfloat16 = 0x1p-8;

/// [n, 4] double on the host, a row for each sequence: its tokens that count and whose logits are
/// finite; over these the sums of the entropy of softmax(logits) over log(experts), of l_k - l_k+1,
/// and how many are close: l_k - l_k+1 <= kRoundsBfloat16 (|l_k| + |l_k+1|), so that rounding the
/// logits to bfloat16 can change the choice. l_k is the k-th largest logit of k = chosen; the last
/// two are 0 where the router does not choose.
at::Tensor summarise(const Routing& routing);

}  // namespace kappascope::tensor
