// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/rational.h"

/// What a wider gate does to the gradients of its layer at initialisation. With the gradient at
/// the layer's output given, the gradient by the pre-gate value g is c·G'(g) and the one by the
/// value path is c·G(g), where c holds all other factors of the chain rule and does not know α.
/// G = (1+2α)σ(βg) - α and G' = (1+2α)β·σ(1-σ), so that a law of σ(βg) with finitely many
/// outcomes, all fractions, gives the second moments as exact sums.
namespace kappascope::theory {

/// One outcome: σ(βg) in (0, 1) and the other factor of the gradient.
struct GateAtom {
  Rational weight, sigmoid, factor;
};

struct GateLaw {
  std::string text;
  std::vector<GateAtom> atoms;  ///< weights sum to one

  [[nodiscard]] Rational mean() const;      ///< E σ(βg)
  [[nodiscard]] Rational variance() const;  ///< Var σ(βg)
};

/// g symmetric about zero, so that σ(βg) and 1 - σ(βg) are as likely, and c independent of it:
/// what random weights give. The first is σ = 3/4 or 1/4, at βg = ±log 3.
std::vector<GateLaw> symmetric_laws(std::uint64_t seed, int draws);
/// The gate does not move: g = 0.
std::vector<GateLaw> constant_laws();
/// Any law of g, and c dependent on it.
std::vector<GateLaw> dependent_laws(std::uint64_t seed, int draws);

enum class GradientPath { kGate, kValue };
/// E[gradient²] at range α over that at α = 0, from α and the moments of σ(βg).
using GradientGrowth = std::function<Rational(const Rational& alpha, const GateLaw& law)>;
/// (1+2α)² through the gate; (1/4 + (1+2α)²v)/(1/4 + v), v = Var σ(βg), through the value path
/// when g is symmetric and independent of c.
Rational derived_growth(GradientPath path, const Rational& alpha, const GateLaw& law);
/// At α = 1/4, 1/2, 1 (the paper's), 0 and 5. Where the gradient is zero at α = 0 it is so at every
/// α, and nothing is compared.
Verdict check_gradient_growth(GradientPath path,
                              const GradientGrowth& says,
                              const std::vector<GateLaw>& laws);

/// E[gradient²] is larger at each of the ranges 0, 1/4, 1/2, 1, 5 than at the one before, where it
/// is not zero.
Verdict check_gradient_grows(GradientPath path, const std::vector<GateLaw>& laws);

}  // namespace kappascope::theory
