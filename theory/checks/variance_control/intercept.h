// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "theory/checks/variance_control/readout_cases.h"
#include "theory/claim.h"

/// The bias as an intercept of the linear readout Z = (φ + b)W under the loss ½E‖Z - T‖². At a
/// fixed W the best free intercept on Z is h = E T - μW; b makes it only where bW = h has a
/// solution, that is, where h lies in the row space of W. Otherwise the best b solves the normal
/// equations WWᵀb = Wh, that is W E[R] = 0 with R = (φ + b)W - T, and a loss of ½‖h - bW‖² stays.
namespace kappascope::theory {

/// Whether the b that minimises the loss at fixed W solves bW = h. The minimiser comes from values
/// of the loss alone.
Verdict check_intercept_solved(const ReadoutPrediction& says, std::uint64_t seed);
/// rank of W with h as a further row = rank W.
std::optional<bool> intercept_in_row_space(const ReadoutCase& one);

/// How far the best b stays above the best free intercept, exactly.
using ExcessFormula = std::function<Rational(const ReadoutCase&)>;
Verdict check_excess_loss(const ExcessFormula& formula, std::uint64_t seed);
/// ½‖h - bW‖² for a b of the normal equations WWᵀb = Wh.
Rational normal_equation_excess(const ReadoutCase& one);

/// Whether b = -μ is an optimal intercept, one with the loss of the best free intercept.
Verdict check_centring_is_optimal(const ReadoutPrediction& says, std::uint64_t seed);

/// Whether descent on b alone, from b = 0, at first moves the regressor's mean μ + b towards zero.
Verdict check_descent_centres(const ReadoutPrediction& says, std::uint64_t seed);
/// μW(μW - E T)ᵀ > 0: the mean output exceeds the mean target along itself.
std::optional<bool> mean_output_overshoots(const ReadoutCase& one);

}  // namespace kappascope::theory
