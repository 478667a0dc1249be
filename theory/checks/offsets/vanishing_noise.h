// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "theory/checks/offsets/offset_cases.h"
#include "theory/claim.h"

/// What the minimum-MSE solution tends to as the noise vanishes: along Σ = εΣ0, ε → 0, the
/// (shortest) minimiser is b_out z(ε)ᵀ with z(ε) = (εΣ0 + b_in b_inᵀ)⁺b_in. For b_in in the range
/// of Σ0 it is Σ0⁺b_in/(ε + b_inᵀΣ0⁺b_in); otherwise k/‖k‖² for every ε, k the part of b_in in the
/// kernel of Σ0.
namespace kappascope::theory {

/// lim z(ε), without any of these formulas. Each entry of z is a rational function of ε with
/// numerator and denominator of degree <= n; it is identified from two values as a/(ε + q) and
/// confirmed at n + 2 further ones, which is a proof, since two such functions agree at no more
/// than n + 1. b_in ≠ 0. O(n⁴).
Vector<Rational> limit_of_solution(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in);

/// A limit as a function of Σ0 and b_in, for one output of 1.
using LimitFormula =
    std::function<Vector<Rational>(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in)>;
/// Lemma 1: b_in/‖b_in‖².
Vector<Rational> published_limit(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in);
/// w/(b_inᵀw) with w = Σ0⁺b_in for b_in in the range of Σ0, and the part of b_in in the kernel of
/// Σ0 otherwise.
Vector<Rational> derived_limit(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in);
/// At every case of noisy_offsets() with b_in ≠ 0.
Verdict check_limit(const LimitFormula& states, std::uint64_t seed);

/// Whether the limit is Lemma 1.
using LimitCondition =
    std::function<bool(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in)>;
/// b_in is an eigenvector of Σ0.
bool along_eigenvector(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in);
/// Both answers must occur.
Verdict check_limit_condition(const LimitCondition& says, std::uint64_t seed);

}  // namespace kappascope::theory
