// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "theory/checks/bias_redundancy/attention.h"
#include "theory/checks/bias_redundancy/block_cases.h"
#include "theory/claim.h"

/// Attention without biases is odd: A(-X) = -A(X). A score is a product of two linear forms of X,
/// so P(-X) = P(X), and V(-X) = -V(X). A mask, a rotary embedding, a query or key norm with a gain
/// alone, soft-capping, a sink and dropout with the same mask leave this as it is, and so do an RMS
/// norm or a LayerNorm without shift in front and a residual path. On a set of inputs that holds
/// -X with every X, a constant k must therefore be -k: attention makes none but zero.
namespace kappascope::theory {

/// Whether A(-X) = -A(X) for all inputs of a block without b_Q, b_K and b_O; nothing where the
/// statement is silent.
using OddStatement = std::function<std::optional<bool>(const BlockFacts&)>;
/// b_V W_O = 0 added up over the heads; with sinks or dropout on P, in each of them.
std::optional<bool> odd_without_value_bias(const BlockFacts& facts);
/// On exact_blocks() and, in floating point, on rounded_blocks(), after b_Q, b_K and b_O were taken
/// out of them. Both answers must occur.
Verdict check_odd(const OddStatement& says, std::uint64_t seed);

/// Sequences of tokens with entries ±1, so that ‖x‖² = d, and attention whose W_V and W_O are free.
struct ConstantCase {
  AttentionBlock<Rational> block;           ///< scores alone: W_Q, W_K, heads, causal or not
  std::vector<Matrix<Rational>> sequences;  ///< [s, d] each
  bool symmetric = false;                   ///< with every X there is -X

  /// Some u has xu = 1 for every token x.
  [[nodiscard]] bool in_a_plane() const;
  [[nodiscard]] std::string text() const;
};
/// One token (1, 1) and its negative first; then 600 seeded cases: d = 2 and 3, one or two heads,
/// up to three tokens and three sequences, symmetric sets, sets in the plane x_1 = 1, and others.
std::vector<ConstantCase> constant_cases(std::uint64_t seed);

/// Whether some W_V, W_O give the constant 1 at every token of every sequence.
using ConstantStatement = std::function<std::optional<bool>(const ConstantCase&)>;
std::optional<bool> always_makes_constant(const ConstantCase& one);  ///< as published
/// No on a symmetric set; yes where the tokens lie in a plane off the origin; silent elsewhere.
std::optional<bool> symmetric_makes_none(const ConstantCase& one);
/// Decided by the linear system Σ_h P_h(X) X W_h = 1 in W_h = W_V W_O, exactly.
Verdict check_makes_constant(const ConstantStatement& says, std::uint64_t seed);

}  // namespace kappascope::theory
