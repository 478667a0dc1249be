// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/enclosure.h"

/// What the isotropy branch LayerNorm(W_iso x)·σ(t) can be. LayerNorm takes the mean out of its k
/// entries and divides by their spread: z = √k·ĥ/√(ĥᵀĥ + kε) with ĥ = P h, P = I - 11ᵀ/k and
/// h = W_iso x. The root leaves the fractions, but zzᵀ = k·ĥĥᵀ/(ĥᵀĥ + kε) does not, so that the
/// second moment M = E zzᵀ of a set of tokens is exact. How isotropic the tokens are is read as
/// (tr M)²/(k tr M²): 1/k on one line, 1 exactly for M = c·I; at ε = 0 it is 1/k over the mean
/// squared cosine. The gain γ makes M into diag(γ) M diag(γ); σ(t) cancels.
namespace kappascope::theory {

struct BranchCase {
  std::string kind;
  Matrix<Rational> weights;  ///< W_iso: [k, d]
  Matrix<Rational> tokens;   ///< [n, d]
  Vector<Rational> gain;     ///< γ: [k], no entry zero
  Rational epsilon;          ///< ε >= 0; a token with ĥ = 0 has z = 0

  [[nodiscard]] Index dimension() const { return weights.rows(); }
  [[nodiscard]] Matrix<Rational> centred() const;        ///< rows ĥ: [n, k]
  [[nodiscard]] Matrix<Rational> second_moment() const;  ///< M: [k, k]
  [[nodiscard]] std::string text() const;
};

/// In order of size and then seeded, k = 2..5, d = 1..4: generic, W_iso of rank one, tokens on a
/// line, in one point, repeated; gains other than one; ε = 0 and not. Some token has ĥ ≠ 0.
std::vector<BranchCase> branch_cases(std::uint64_t seed, int draws);
/// Tokens along ± each axis through W_iso = I, k = d = 2..5: as isotropic as an input can be.
std::vector<BranchCase> even_cases();
/// ε = 0, γ = 1, and every token's ĥ a positive multiple of one direction.
std::vector<BranchCase> concentrated_cases();

/// Bounds of (tr M)²/(k tr M²).
using IsotropyStatement = std::function<Enclosure(const BranchCase&)>;
/// [1/k, r/k] with r the rank of the centred projections, r <= k - 1.
Enclosure derived_isotropy(const BranchCase& one);
Verdict check_isotropy(const IsotropyStatement& says, const std::vector<BranchCase>& cases);

/// The mean cosine between the z of two tokens, of concentrated cases.
Verdict check_mean_cosine(const Rational& stated);

}  // namespace kappascope::theory
