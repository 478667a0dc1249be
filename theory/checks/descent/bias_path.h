// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "theory/checks/variance_control/readout_cases.h"
#include "theory/claim.h"

/// Where descent on ½E‖(φ + b)W - T‖² takes b. With ν = μ + b, the residual R and e = E R the
/// gradients are ∂L/∂W = Cov(φ, R) + νe and ∂L/∂b = W eᵀ (ν a column, e a row). So b rests wherever
/// the output has the target's mean, and each parameter moves the mean output νᵀW by its own share.
namespace kappascope::theory {

/// By how much the mean output moves, per unit of the rate, in a step of one parameter alone.
struct MeanMoves {
  Vector<Rational> by_weight, by_bias;  ///< [d_model]
};
/// μ + b, and E R.
Vector<Rational> shifted_mean(const ReadoutCase& one);
Vector<Rational> mean_residual(const ReadoutCase& one);
using MeanMovesFormula = std::function<MeanMoves(const ReadoutCase&)>;
/// Steps on gradients that are sums over samples, exactly.
Verdict check_mean_moves(const MeanMovesFormula& formula, std::uint64_t seed);
/// -(νᵀCov(φ, R) + ‖ν‖²e) and -e WᵀW.
MeanMoves derived_moves(const ReadoutCase& one);

/// Whether descent on b alone, W held, ends at b = -μ. It ends at the one b whose difference from
/// the start lies in the range of W and at which W eᵀ = 0.
Verdict check_centres(const ReadoutPrediction& says, std::uint64_t seed);
/// W E T = 0, and ν lies in the range of W.
std::optional<bool> mean_in_range(const ReadoutCase& one);

/// λmax/λmin of the Hessian of the squared loss at Σ = I, μ = (10, 0), W_d = I, E R = 0: in W_d
/// alone, in (W_d, b) at b = -μ, and in (W_d, c).
struct Conditions {
  Rational without, with_bias, with_intercept;  ///< to five digits
};
Verdict check_conditions(const Conditions& stated);

}  // namespace kappascope::theory
