// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "kappascope/theory/claim.h"
#include "theory/checks/bias_redundancy/block_cases.h"

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

}  // namespace kappascope::theory
