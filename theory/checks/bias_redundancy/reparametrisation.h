// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "theory/checks/bias_redundancy/block_cases.h"
#include "theory/claim.h"

/// A bias is redundant where the block without it, its other parameters chosen anew, has the same
/// outputs on every sequence. What decides for b_K and b_V is the softmax: a number added to all
/// visible scores of a row cancels, and the rows of P sum to one.
namespace kappascope::theory {

/// The other choice of parameters, once exact and once in floating point.
struct Reparametrisation {
  std::function<AttentionBlock<Rational>(AttentionBlock<Rational>)> exact;
  std::function<AttentionBlock<double>(AttentionBlock<double>)> rounded;
};
/// From one generic lambda.
template <typename Generic>
Reparametrisation reparametrisation(const Generic& generic) {
  return {generic, generic};
}

/// b_K = 0.
Reparametrisation without_key_bias();
/// b_V = 0 and b_O + Σ_h b_V W_O in the place of b_O.
Reparametrisation value_bias_moved_to_output();

/// Whether a statement says that the outputs stay the same; nothing where it is silent.
using BlockStatement = std::function<std::optional<bool>(const BlockFacts&)>;
/// b_K = 0, or neither key norm nor cap nor sink, and nothing of b_K turned by rotary.
std::optional<bool> key_bias_cancels(const BlockFacts& facts);
/// b_V W_O = 0 for every head, or neither dropout on P nor a sink.
std::optional<bool> value_bias_moves(const BlockFacts& facts);

/// On exact_blocks() and rounded_blocks(): in floating point outputs are the same up to 1e-11 of
/// the largest, different from 1e-7 on, and whatever lies between agrees with nothing.
Verdict check_reparametrisation(const Reparametrisation& other,
                                const BlockStatement& same_outputs,
                                std::uint64_t seed);

/// The two sublayers of a post-norm block. x + attention(x) and h + W_2 act(W_1 h + b_1) + b_2 are
/// what the norms read, x and h being what the norms before made, with shifts β in them.
struct PostNormBlock {
  AttentionBlock<Rational> attention;  ///< from x, [s, width], to the same width
  Matrix<Rational> first, second;      ///< W_1 [width, f], W_2 [f, width]; act is ReLU
  Vector<Rational> first_bias, second_bias;
  Matrix<Rational> x, h;   ///< [s, width]
  Vector<Rational> shift;  ///< Δ with ΔᵀW_Q = b_Qᵀ
};
/// The same outputs at x + 1Δᵀ and h + 1Δ'ᵀ from other parameters; Δ' is added to the h given.
using PostNormStatement = std::function<PostNormBlock(PostNormBlock)>;
/// x + 1Δᵀ, b_Q = b_K = b_V = 0 and b_O - Δ - W_OᵀW_VᵀΔ + b_VW_O; h + 1b_2ᵀ, b_2 = 0 and
/// b_1 - W_1ᵀb_2.
PostNormBlock absorb_into_shifts(PostNormBlock block);
/// 400 seeded blocks, exactly: the new parameters have no b_Q, b_K, b_V, b_2, and both sublayers
/// give what they gave.
Verdict check_post_norm(const PostNormStatement& other, std::uint64_t seed);

}  // namespace kappascope::theory
