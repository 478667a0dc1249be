// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "theory/checks/bias_redundancy/attention.h"
#include "theory/tools/sizes.h"

/// Attention blocks on which statements about b_K and b_V are decided: every combination of what a
/// block may have besides softmax(QKᵀ)V.
namespace kappascope::theory {

struct Switches {
  bool rotary = false, query_norm = false, key_norm = false, cap = false, sink = false,
       causal = false, dropout = false;
};

/// A block and the sequences it is fed with. "The same outputs" means: on all of them.
template <typename Scalar>
struct BlockCase {
  Switches on;
  AttentionBlock<Scalar> block;
  std::vector<Matrix<Scalar>> masks;   ///< of dropout on P, one per head; empty: none
  std::vector<Matrix<Scalar>> inputs;  ///< [s, width] each
};

/// What a statement may look at.
struct BlockFacts {
  Switches on;
  bool key_bias = false;         ///< b_K ≠ 0
  bool key_bias_turned = false;  ///< b_K has a part in the coordinates that rotary turns
  bool value_bias_seen = false;  ///< b_V W_O ≠ 0 for some head
  bool value_bias_sums = false;  ///< and added up over the heads
};
template <typename Scalar>
BlockFacts facts_of(const BlockCase<Scalar>& one);

/// Width, heads, tokens of a sequence, and how many switches are on.
template <typename Scalar>
Sizes sizes_of(const BlockCase<Scalar>& one);

/// First a case for each switch that fits into one line, then all 2⁷ combinations with d = 2 on
/// two tokens, each with two choices of biases and fed with 36 sequences. A token is (q, k, v)
/// side by side, so that queries, keys and values take any value.
std::vector<BlockCase<Rational>> exact_blocks();
/// "b_K = 1, a sink of logit 0" and one of the sequences, in numbers.
std::string text(const BlockCase<Rational>& one, const Matrix<Rational>& input);

/// All 2⁷ combinations 20 times with random weights: one or two heads, grouped keys, d = 2 or 4,
/// Llama's frequencies, all or half of the coordinates turned, up to four tokens; b_K generic,
/// zero, or only where nothing is turned.
std::vector<BlockCase<double>> rounded_blocks(std::uint64_t seed);

}  // namespace kappascope::theory
