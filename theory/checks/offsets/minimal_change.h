// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "theory/checks/offsets/offset_cases.h"
#include "theory/claim.h"

/// Lemma 1: the smallest Δ with Δ b_in = b_out, in three norms.
///
/// Every exact fit is Δ* + E with Δ* = b_out b_inᵀ/‖b_in‖² and E b_in = 0. With unit vectors u and
/// v along b_in and b_out and s = ‖b_out‖/‖b_in‖, ΔΔᵀ = s²vvᵀ + EEᵀ: the Frobenius norm grows with
/// every E ≠ 0, the operator norm only with some.
/// Each check takes the statement as a function and decides by exact elimination.
namespace kappascope::theory {

/// The smallest exact fit, or nothing where there is none.
using LeastFit = std::function<std::optional<Matrix<Rational>>(const OffsetPair&)>;
/// Lemma 1 as published, with b_inᵀ/‖b_in‖² read as zero for b_in = 0.
std::optional<Matrix<Rational>> published_least_fit(const OffsetPair& pair);
/// The same, but nothing for b_in = 0 ≠ b_out.
std::optional<Matrix<Rational>> least_fit(const OffsetPair& pair);
/// Compared with the solution of the optimality conditions of min ‖Δ‖_F subject to Δ b_in = b_out
/// (strictly convex, so unique); and Δx = 0 for every x orthogonal to b_in.
Verdict check_least_fit(const LeastFit& states, const std::vector<OffsetPair>& pairs);

/// The square of the least norm of an exact fit, the same in every unitarily invariant norm.
using LeastNorm = std::function<Rational(const OffsetPair&)>;
Rational least_norm(const OffsetPair& pair);  ///< ‖b_out‖²/‖b_in‖²
/// It is reached: Δ* has rank <= 1 and this squared Frobenius norm, so all its norms are equal. And
/// no fit is below it: ΔᵀΔ is never smaller than stated·I. By Fan's dominance theorem the operator
/// norm, being the smallest of them, decides for all.
Verdict check_least_norm(const LeastNorm& states, std::uint64_t seed);

/// Whether ‖Δ‖ > ‖Δ*‖ in the operator norm; nothing: the statement is silent.
using NormGrows = std::function<std::optional<bool>(const OffsetFit&)>;
/// Yes for every Δ ≠ Δ*.
std::optional<bool> published_norm_grows(const OffsetFit& fit);
/// Exactly when Eᵀb_out ≠ 0 or ‖E‖ > s.
std::optional<bool> norm_grows(const OffsetFit& fit);
/// Decided by the definiteness of s²I - ΔᵀΔ. Both answers must occur.
Verdict check_norm_grows(const NormGrows& says, std::uint64_t seed);

}  // namespace kappascope::theory
