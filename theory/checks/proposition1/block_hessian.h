// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "theory/checks/proposition1/regression_cases.h"
#include "theory/claim.h"

/// The curvature of the squared loss ½ E‖(φ + b) W_d - t‖² in W_d, in b and in both. Hessians come
/// from exact second differences of the loss, never from the formula under test. Parameters are
/// (W_d row-major, b); a block of W_d reads A ⊗ I over the d_model outputs.
namespace kappascope::theory {

/// A d_ff x d_ff matrix of the features' moments, once exact and once in floating point.
struct MomentFormula {
  std::function<Matrix<Rational>(const Matrix<Rational>& sigma, const Vector<Rational>& mu)> exact;
  std::function<Matrix<double>(const Matrix<double>& sigma, const Vector<double>& mu)> rounded;
};
/// From one generic lambda: moment_formula([](const auto& sigma, const auto& mu) { ... ; }).
template <typename Generic>
MomentFormula moment_formula(const Generic& generic) {
  return {generic, generic};
}

/// The W_d block without a bias is formula(Σ, μ) ⊗ I: exactly, and in floating point up to
/// d_ff = 24 with means up to 1e3 times the spread.
Verdict check_block(const MomentFormula& formula, std::uint64_t seed);

/// Eliminating a free intercept c on Z leaves formula(Σ, μ) ⊗ I, exactly.
Verdict check_intercept_schur(const MomentFormula& formula, std::uint64_t seed);

/// The joint Hessian of (W_d, b), as a whole.
using JointFormula = std::function<Matrix<Rational>(const RegressionCase&)>;
/// The W_d block [Σ + (μ+b)(μ+b)ᵀ] ⊗ I, the b block W W ᵀ, and between them
/// (μ+b) ⊗ Wᵀ + I ⊗ E[residual].
Matrix<Rational> joint_hessian(const RegressionCase& one);
Verdict check_joint(const JointFormula& formula, std::uint64_t seed);

/// Whether, at a b where ∂L/∂b = 0, eliminating b leaves formula(Σ, μ) ⊗ I. The check asks this of
/// every stationary case, and both answers must occur. The witness of a verdict that holds shows
/// both sides.
using SchurCondition = std::function<bool(const RegressionCase&)>;
/// W_d has rank d_model, or b = -μ and E[residual] = 0.
bool bias_absorbs_mean(const RegressionCase& one);
Verdict check_bias_schur(const MomentFormula& formula,
                         const SchurCondition& condition,
                         std::uint64_t seed);

}  // namespace kappascope::theory
