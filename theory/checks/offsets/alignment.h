// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "theory/checks/offsets/offset_cases.h"
#include "theory/claim.h"

/// In which direction of the features a weight-only correction reads them. The one of least change
/// is b_out μᵀ/‖μ‖², along the mean; the one of least mean-square error is b_out μᵀ(Σ + μμᵀ)⁻¹,
/// along Σ⁻¹μ, because (Σ + μμᵀ)⁻¹μ = Σ⁻¹μ/(1 + μᵀΣ⁻¹μ).
namespace kappascope::theory {

enum class Correction { kLeastChange, kLeastError };

/// Whether the correction is a multiple of b_out μᵀ; nothing where the statement is silent.
using AlignmentStatement = std::function<std::optional<bool>(const NoisyOffset&)>;
std::optional<bool> aligned_with_mean(const NoisyOffset& one);  ///< always
/// μ is an eigenvector of Σ.
std::optional<bool> mean_is_eigenvector(const NoisyOffset& one);
/// At the cases of noisy_offsets() with b_in = μ ≠ 0 and Σ + μμᵀ > 0, one output of 1. The
/// correction of least error is fitted to the outcomes of x, not taken from the formula.
Verdict check_alignment(Correction correction, const AlignmentStatement& says, std::uint64_t seed);

/// The correction of least error is a multiple of Σ⁻¹μ, at the cases with Σ > 0 too.
using CorrectionDirection =
    std::function<Vector<Rational>(const Matrix<Rational>& sigma, const Vector<Rational>& mu)>;
Vector<Rational> whitened_mean(const Matrix<Rational>& sigma, const Vector<Rational>& mu);
Verdict check_correction_direction(const CorrectionDirection& states, std::uint64_t seed);

}  // namespace kappascope::theory
