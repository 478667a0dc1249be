// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "theory/checks/variance_control/readout_cases.h"
#include "theory/claim.h"

/// The gradient of the loss ½‖(φ + b)W - T‖² of single samples in W, at an intercept b that is
/// optimal. There E[R] = 0, and the residual R = (φ - μ)W - (T - E T) holds only centred features.
/// The gradient of one sample is the outer product of R with the regressor φ + b, which is centred
/// only at b = -μ. With R independent of φ its covariance is (Σ + (μ+b)(μ+b)ᵀ) ⊗ Cov R.
namespace kappascope::theory {

/// At an optimal intercept b (so E R = 0): whether the gradient of each single sample, by
/// differences of its loss, is that of centred features, (φ - μ)ᵀR.
Verdict check_sample_gradients(const ReadoutPrediction& says, std::uint64_t seed);
/// b = -μ, or R = 0 in every sample.
std::optional<bool> gradients_are_centred(const ReadoutCase& one);

/// At an optimal intercept: E of the gradient, [d, m].
using MeanGradient = std::function<Matrix<Rational>(const ReadoutCase&)>;
Verdict check_mean_gradient(const MeanGradient& formula, std::uint64_t seed);
/// E[(φ - μ)ᵀR].
Matrix<Rational> centred_mean_gradient(const ReadoutCase& one);

/// At an optimal intercept with R independent of φ: Cov of a sample's gradient is
/// formula(Σ, μ, b) ⊗ Cov R. By enumeration of the samples, exactly.
using GradientCovariance = std::function<Matrix<Rational>(
    const Matrix<Rational>& sigma, const Vector<Rational>& mu, const Vector<Rational>& b)>;
Verdict check_gradient_covariance(const GradientCovariance& formula, std::uint64_t seed);
/// Whether E[yyᵀ], y = φ + b, is no larger than E[φφᵀ], as matrices: E[φφᵀ] - E[yyᵀ] >= 0.
Verdict check_covariance_falls(const ReadoutPrediction& says, std::uint64_t seed);
/// μ + b = cμ with |c| <= 1.
std::optional<bool> shifted_mean_shrinks(const ReadoutCase& one);

}  // namespace kappascope::theory
