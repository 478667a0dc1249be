// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "theory/checks/offsets/offset_cases.h"
#include "theory/claim.h"

/// The minimum-MSE remark: the Δ that makes E‖b_out - Δ(b_in + x)‖² least, where x has mean zero
/// and covariance Σ. With H = Σ + b_in b_inᵀ the normal equations are HΔᵀ = b_in b_outᵀ; they are
/// always solvable, since b_in lies in the range of H, and uniquely exactly when H > 0.
/// Each check takes the statement as a function and decides exactly.
namespace kappascope::theory {

/// H⁺b_in, the shortest z with Hz = b_in. O(n³).
Vector<Rational> shortest_solution(const Matrix<Rational>& sigma, const Vector<Rational>& b_in);

struct LeastError {
  Matrix<Rational> map;  ///< Δ
  Rational value;        ///< E‖b_out - Δ(b_in + x)‖²
  bool unique = false;
};
/// Nothing where a statement names no minimiser.
using LeastErrorFormula = std::function<std::optional<LeastError>(const Matrix<Rational>& sigma,
                                                                  const OffsetPair& offsets)>;
/// b_out b_inᵀH⁻¹, unique, with ‖b_out‖²(1 - b_inᵀH⁻¹b_in); nothing for a singular H.
std::optional<LeastError> published_least_error(const Matrix<Rational>& sigma,
                                                const OffsetPair& offsets);
/// b_out b_inᵀH⁺, unique exactly when H > 0, with ‖b_out‖²/(1 + b_inᵀΣ⁺b_in) for b_in in the range
/// of Σ, and 0 otherwise.
std::optional<LeastError> least_error(const Matrix<Rational>& sigma, const OffsetPair& offsets);

std::vector<NoisyOffset> regular_offsets(std::uint64_t seed);   ///< noisy_offsets() with H > 0
std::vector<NoisyOffset> singular_offsets(std::uint64_t seed);  ///< and those with a singular H

/// Compared with an ordinary least-squares fit to the outcomes of x, summed one by one: the error
/// of the stated map, the stated value, and uniqueness by the rank of the outcomes.
Verdict check_least_error(const LeastErrorFormula& states, const std::vector<NoisyOffset>& cases);

}  // namespace kappascope::theory
