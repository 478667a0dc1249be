// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "theory/checks/bias_redundancy/attention.h"
#include "theory/checks/bias_redundancy/norms.h"
#include "theory/claim.h"

/// Biases of projections that read x, where x is what a pre-norm makes: x = norm(h)∘γ + β.
///
/// When some u has xu = 1 for every input, a constant is a linear function of x, and every
/// projection can make its bias b itself: x(W + u b) = xW + b. Such a u exists exactly when the
/// inputs lie in a plane that misses the origin. The outputs of LayerNorm lie in the plane
/// Σ x_j/γ_j = Σ β_j/γ_j; those of RMSNorm are symmetric about β and span everything.
namespace kappascope::theory {

/// A query bias on a set of inputs.
struct QueryCase {
  Matrix<Rational> inputs;      ///< [m, width] the values that x takes, one a row
  Matrix<Rational> query, key;  ///< [width, d]
  Vector<Rational> bias;        ///< [d] b_Q

  [[nodiscard]] std::string text() const;
};
/// Whether some W_Q', W_K' without b_Q (a key bias does not matter, Z-K) give the same P for
/// every sequence of these inputs.
using QueryStatement = std::function<std::optional<bool>(const QueryCase&)>;
/// Some u has xu = 1 for all inputs, or b_QᵀW_Kᵀ(x - x') = 0 for all pairs.
std::optional<bool> query_bias_replaceable(const QueryCase& one);
/// The truth is the linear system x B (x' - x'')ᵀ = b_QᵀW_Kᵀ(x' - x'')ᵀ for all x, x', x'', in
/// which B = W_Q'W_K'ᵀ - W_QW_Kᵀ may be any matrix. Where it has a solution, W_Q + u b_Qᵀ in W_Q's
/// place must give the same P, exactly.
Verdict check_query_bias(const QueryStatement& replaceable, std::uint64_t seed);

/// What a norm, its gain and its shift make.
struct NormOutput {
  Norm norm{};
  Vector<Rational> gain, shift;  ///< γ, β [width]

  /// norm(h)∘γ + β in the rows, for h that span all outputs: ±e_i, or e_i - e_j for LayerNorm,
  /// with an ε that makes the root 1.
  [[nodiscard]] Matrix<Rational> samples() const;
  [[nodiscard]] std::string text() const;
};
/// Whether a projection of these outputs makes a bias b ≠ 0 itself.
using NormStatement = std::function<std::optional<bool>(const NormOutput&)>;
/// Some γ_j = 0 with β_j ≠ 0; or LayerNorm, γ without zeros and Σ β_j/γ_j ≠ 0.
std::optional<bool> norm_makes_constants(const NormOutput& one);
/// The truth is whether X(W' - W) = 1bᵀ has a solution.
Verdict check_bias_reading_norm(const NormStatement& makes_bias, std::uint64_t seed);

/// A block behind a norm, after β became β + Δ. The statement chooses its other parameters.
using ShiftStatement = std::function<AttentionBlock<Rational>(AttentionBlock<Rational>,
                                                              const Vector<Rational>& shift)>;
/// b_Q - ΔW_Q and b_O - ΔW_VW_O; b_K as it was.
AttentionBlock<Rational> absorb_shift(AttentionBlock<Rational> block,
                                      const Vector<Rational>& shift);
/// The outputs before and after, exactly. Half of the Δ solve ΔW_Q = b_Q, so that b_Q is gone.
Verdict check_shift(const ShiftStatement& other, std::uint64_t seed);

}  // namespace kappascope::theory
