// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/rational.h"

/// ASGER's layer as printed: FFN(x) = W_d (G(W_g x) ⊙ S(W_u x)) with S(u) = SiLU(W_s u) ⊙ V_s u,
/// for all tokens of a sequence at once. Exact arithmetic cannot take the sigmoid of a fraction;
/// σ(z) = (1 + z/(1+|z|))/2 stands in for it, which also rises from 0 to 1 with σ(z)+σ(-z) = 1:
/// which token's numbers an output is made of does not depend on the curve.
namespace kappascope::theory {

struct AsgerLayer {
  Matrix<Rational> gate, up;        ///< W_g, W_u: [f, d]
  Matrix<Rational> spatial, value;  ///< W_s, V_s: [f, f]
  Matrix<Rational> down;            ///< W_d: [d, f]
  Rational alpha{1, 2};

  [[nodiscard]] Matrix<Rational> spatial_factor(
      const Matrix<Rational>& tokens) const;                                         ///< S: [n, f]
  [[nodiscard]] Matrix<Rational> gate_factor(const Matrix<Rational>& tokens) const;  ///< G: [n, f]
  [[nodiscard]] Matrix<Rational> output(const Matrix<Rational>& tokens) const;       ///< [n, d]
};

/// First d = f = 1 with all weights one, and with W_s = 0; then seeded ones up to d = f = 3:
/// generic, with zero rows, rank one, W_s = 0, V_s = 0.
std::vector<AsgerLayer> asger_layers(std::uint64_t seed, int draws);

/// From tokens [n, d] to outputs [n, d].
using TokenLayer =
    std::function<Matrix<Rational>(const AsgerLayer&, const Matrix<Rational>& tokens)>;
/// Whether tokens interact in `layer`: whether, of three tokens, one changes the output of
/// another when it changes itself; or an output differs from that of its token alone.
Verdict check_interaction(bool stated, const TokenLayer& layer, std::uint64_t seed);

/// Whether S differs between tokens. Decided on the tokens (1, s, s², ...), s = 1, ..., 2d, and 0:
/// S(0) = 0, and a unit of S is zero only where one of two linear forms is, each at most d - 1
/// times among them unless it vanishes altogether.
using TokenSpecific = std::function<bool(const AsgerLayer&)>;
/// For some unit, row i of W_sW_u and row i of V_sW_u are both nonzero.
bool some_unit_sees_tokens(const AsgerLayer& layer);
Verdict check_token_specific(const TokenSpecific& says, std::uint64_t seed);

}  // namespace kappascope::theory
