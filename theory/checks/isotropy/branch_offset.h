// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/rational.h"
#include "theory/tools/sizes.h"

/// What else the isotropy branch is: Output = W_gated (W_g x ⊙ GELU(W_gelu x)) +
/// W_branch σ(t)(γ ⊙ n(W_iso x) + β), where n takes the mean out and divides by the spread, and
/// W_gated, W_branch are the two parts of W_down. The term σ(t)·W_branch·β is the same for every
/// token: an output bias. Two curves stand in for the ones that leave the fractions, a square for
/// GELU and 1/(1 + variance) for the root in n: neither meets β.
namespace kappascope::theory {

struct BranchLayer {
  Matrix<Rational> gate, gelu, gated;  ///< W_g, W_gelu: [f, d]; W_gated: [d, f]
  Matrix<Rational> iso, branch;        ///< W_iso: [k, d]; W_branch: [d, k]
  Vector<Rational> gain;               ///< γ: [k]
  Rational temperature;                ///< σ(t), in (0, 1)

  [[nodiscard]] Index dimension() const { return branch.rows(); }
  [[nodiscard]] Sizes sizes() const {
    return {{"d", gate.cols()}, {"f", gate.rows()}, {"k", iso.rows()}};
  }
  [[nodiscard]] Vector<Rational> output(const Vector<Rational>& token,
                                        const Vector<Rational>& beta) const;
};

/// First d = k = 1 with the gated path silent (n of a single entry is zero: the layer is its bias),
/// then seeded ones, d = 1..3, k = 1..4: generic, silent, W_branch of rank one and zero.
std::vector<BranchLayer> branch_layers(std::uint64_t seed, int draws);

/// Whether some β adds `offset` to the output of every token. Decided by solving for β and running
/// the layer with it and without on four tokens.
using OffsetStatement =
    std::function<bool(const BranchLayer& layer, const Vector<Rational>& offset)>;
bool offset_in_range(const BranchLayer& layer, const Vector<Rational>& offset);
Verdict check_offset(const OffsetStatement& says, std::uint64_t seed);

/// Whether β makes every offset.
using AnyOffsetStatement = std::function<bool(const BranchLayer& layer)>;
Verdict check_any_offset(const AnyOffsetStatement& says, std::uint64_t seed);

}  // namespace kappascope::theory
