// SPDX-License-Identifier: Apache-2.0
// Proposition 1 of "Post-Gating Bias": the Hessian of W_d with and without a bias, and what
// removing μμᵀ does to its spectrum.
#include <optional>
#include <utility>

#include "theory/checks/proposition1/block_hessian.h"
#include "theory/checks/proposition1/spectrum.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kSource = "Post-gating bias, Proposition 1";
constexpr const char* kProof = "Post-gating bias, A.3 (proof of Proposition 1)";
constexpr const char* kMoments = "φ has mean μ and covariance Σ";

constexpr const char* kTopCondition =
    "strict exactly when μ has a part in the top eigenspace of Σ, or Σ_{λ_i < λ1} "
    "(v_iᵀμ)²/(λ1-λ_i) "
    "> 1";
constexpr const char* kKernelCondition = "exactly when μ lies in the range of Σ";
constexpr const char* kKappaCondition =
    "for Σ > 0, κ(Σ+μμᵀ) >= κ(Σ) exactly when λ_d is repeated, or v_dᵀμ = 0, or s = t·λ_d/λ1 >= "
    "λ_{d-1}, or s > λ_d and ψ(s) >= 0, where ψ(x) = 1 + Σ (v_iᵀμ)²/(λ_i-x) and t = λmax(Σ+μμᵀ) is "
    "ψ's root "
    "above λ1, or λ1; for d = 2: (1 + |μ|²/tr Σ)² >= 1 + μᵀΣ⁻¹μ. For singular Σ and μ in its "
    "range: "
    "the same on the range (κ over nonzero eigenvalues), always (κ = λmax/λmin, ∞ = ∞). For μ "
    "outside the range: always, but with κ = λmax/λmin not when the nullity is one";
constexpr const char* kKappaShort =
    "where the smallest eigenvalue gains no larger a share than the largest; for d = 2 and Σ > 0 "
    "exactly when (1 + |μ|²/tr Σ)² >= 1 + μᵀΣ⁻¹μ, in general as P-P1f' says";
constexpr const char* kSchurCondition =
    "as what is left for W_d once an intercept is eliminated: always for a free intercept c on Z; "
    "for c = bW_d at a b with ∂L/∂b = 0, exactly when rank W_d = d_model (so d_ff >= d_model), or "
    "b = -μ and E[residual] = 0. The W_d block itself is Σ+(μ+b)(μ+b)ᵀ, which is Σ only at b = -μ";

const auto kCovariance =
    moment_formula([](const auto& sigma, const auto& /*mu*/) { return sigma; });
const auto kSecondMoment =
    moment_formula([](const auto& sigma, const auto& mu) { return (sigma + mu * mu.transpose()); });

Verdict decide_effective_hessian(const CheckContext& context) {
  auto verdict = conjunction({check_intercept_schur(kCovariance, context.seed),
                              check_bias_schur(kCovariance, bias_absorbs_mean, context.seed)});
  if (verdict.outcome == Outcome::kHolds) verdict.outcome = Outcome::kHoldsUnder;
  return verdict;
}

std::optional<bool> strict_outside_kernel(const GramCase& one) {
  return one.mean_in_kernel() ? std::nullopt : std::optional(true);
}

/// A prediction for the cases that pass the filter, silence on the others.
template <typename Filter>
Prediction where(const Filter& filter, Prediction says) {
  return [filter, says = std::move(says)](const GramCase& one) {
    return filter(one) ? says(one) : std::nullopt;
  };
}

Verdict decide_kappa(const CheckContext& context) {
  const auto always = [](const GramCase&) { return std::optional(true); };
  const auto regular = [](const GramCase& one) { return one.rank() == one.dimension(); };
  const auto singular = [](const GramCase& one) { return one.rank() < one.dimension(); };
  const auto seed = context.seed;
  return conjunction(
      {check_kappa(where(regular, always), Relation::kAtLeast, Convention::kInfinite, seed),
       check_kappa(
           where(regular, strict_outside_kernel), Relation::kGreater, Convention::kInfinite, seed),
       check_kappa(where(singular, always), Relation::kAtLeast, Convention::kInfinite, seed),
       check_kappa(where(singular, always), Relation::kAtLeast, Convention::kNonzero, seed)});
}

Verdict decide_kappa_condition(const CheckContext& context) {
  const auto says = [](Convention convention) {
    return [convention](const GramCase& one) {
      return std::optional(kappa_at_least(one, convention));
    };
  };
  const auto in_plane = [](const GramCase& one) {
    return one.dimension() == 2 && one.rank() == 2 ? std::optional(kappa_at_least_in_plane(one))
                                                   : std::nullopt;
  };
  std::vector<Verdict> parts;
  for (const auto convention : {Convention::kInfinite, Convention::kNonzero}) {
    parts.push_back(check_kappa(says(convention), Relation::kAtLeast, convention, context.seed));
  }
  parts.push_back(check_kappa(in_plane, Relation::kAtLeast, Convention::kInfinite, context.seed));
  return conjunction(parts);
}

std::vector<Claim> hessian_claims() {
  return {
      {.id = "P-P1a",
       .source = kSource,
       .statement = "Under squared loss the W_d block of the Hessian without a bias is Σ + μμᵀ.",
       .assumptions = kMoments,
       .derivation = "The loss ½E‖φW - t‖² is quadratic in W, so its second differences are its "
                     "Hessian E[φφᵀ] ⊗ I without remainder.",
       .check =
           [](const CheckContext& context) {
             return with_condition(
                 check_block(kSecondMoment, context.seed),
                 "times the loss's factor: 1 for ½‖·‖², 2 for ‖·‖², 2/d_model for "
                 "the mean over outputs; κ does not see it");
           }},
      {.id = "P-P1b",
       .source = kSource,
       .statement = "With a trainable b that absorbs the mean, the effective Hessian for W_d is Σ.",
       .assumptions = "squared loss; φ has mean μ and covariance Σ",
       .derivation = "The joint Hessian of (W_d, b) has the blocks [Σ+(μ+b)(μ+b)ᵀ] ⊗ I, W_dW_dᵀ "
                     "and (μ+b) ⊗ W_dᵀ + I ⊗ E[residual]; eliminating b where E[residual] = 0 "
                     "leaves Σ ⊗ I + (μ+b)(μ+b)ᵀ ⊗ (I - P), P the projector on W_d's row space.",
       .check =
           [](const CheckContext& context) {
             return with_condition(decide_effective_hessian(context), kSchurCondition);
           }},
      {.id = "P-P1b'",
       .source = "corrects P-P1b",
       .statement =
           "The W_d block at b is Σ+(μ+b)(μ+b)ᵀ, the cross block holds E[residual] ⊗ I, and "
           "where ∂L/∂b = 0 eliminating b leaves Σ exactly when rank W_d = d_model, or "
           "b = -μ and E[residual] = 0.",
       .assumptions = "squared loss; φ has mean μ and covariance Σ",
       .derivation = "W_d E[residual] = 0 at such a b. Full rank gives E[residual] = 0 and P = I. "
                     "Otherwise (μ+b)(μ+b)ᵀ ⊗ (I - P) stays, or E[residual] ≠ 0 makes the joint "
                     "Hessian indefinite or adds a term that Σ lacks.",
       .check =
           [](const CheckContext& context) {
             auto schur = check_bias_schur(kCovariance, bias_absorbs_mean, context.seed);
             if (schur.outcome == Outcome::kHolds) schur.witness.clear();
             return conjunction({check_joint(joint_hessian, context.seed), schur});
           }},
  };
}

std::vector<Claim> spectrum_claims() {
  return {
      {.id = "P-P1c",
       .source = kSource,
       .statement = "λmax(Σ+μμᵀ) >= λmax(Σ) + (vᵀμ)², v a unit top eigenvector of Σ.",
       .assumptions = "Σ >= 0; for a repeated top eigenvalue the v with the largest (vᵀμ)²",
       .derivation = "The Rayleigh quotient of Σ+μμᵀ at v.",
       .check =
           [](const CheckContext& context) {
             return check_top_eigenvalue_bound(published_top_bound, context.seed);
           }},
      {.id = "P-P1d",
       .source = kProof,
       .statement = "λmax(Σ+μμᵀ) > λmax(Σ) when μ is not in ker Σ.",
       .assumptions = "Σ >= 0",
       .derivation =
           "λ1·I - Σ - μμᵀ can stay positive semidefinite when μ is orthogonal to the top "
           "eigenspace: the bound of P-P1c is then no more than λmax(Σ).",
       .check =
           [](const CheckContext& context) {
             return with_condition(check_top_strictly_grows(strict_outside_kernel, context.seed),
                                   kTopCondition);
           }},
      {.id = "P-P1d'",
       .source = "corrects P-P1d",
       .statement =
           "λmax(Σ+μμᵀ) > λmax(Σ) exactly when μ has a part in the top eigenspace of Σ, or "
           "Σ_{λ_i < λ1} (v_iᵀμ)²/(λ1-λ_i) > 1.",
       .assumptions = "Σ >= 0",
       .derivation = "N = λ1·I - Σ is positive semidefinite with the top eigenspace as kernel, and "
                     "N - μμᵀ >= 0 exactly when μ is in its range and μᵀN⁺μ <= 1.",
       .check =
           [](const CheckContext& context) {
             return check_top_strictly_grows(
                 [](const GramCase& one) { return std::optional(top_grows(one)); }, context.seed);
           }},
      {.id = "P-P1e",
       .source = kProof,
       .statement = "Σ+μμᵀ and Σ share the same nullspace.",
       .assumptions = "Σ >= 0",
       .derivation =
           "ker(Σ+μμᵀ) = ker Σ ∩ μ^⊥: a constant feature is in ker Σ and not in the other.",
       .check =
           [](const CheckContext& context) {
             return with_condition(
                 check_same_nullspace([](const GramCase&) { return std::optional(true); },
                                      context.seed),
                 kKernelCondition);
           }},
      {.id = "P-P1e'",
       .source = "corrects P-P1e",
       .statement = "ker(Σ+μμᵀ) = ker Σ exactly when μ lies in the range of Σ.",
       .assumptions = "Σ >= 0",
       .derivation = "ker Σ ∩ μ^⊥ = ker Σ exactly when μ is orthogonal to ker Σ.",
       .check =
           [](const CheckContext& context) {
             return check_same_nullspace(
                 [](const GramCase& one) { return std::optional(one.mean_in_range()); },
                 context.seed);
           }},
      {.id = "P-P1f",
       .source = kSource,
       .statement = "κ(Σ+μμᵀ) >= κ(Σ), strictly when μ is not in ker Σ.",
       .assumptions = "Σ > 0; for singular Σ with κ = λmax/λmin and with the nonzero eigenvalues",
       .derivation = "μμᵀ lifts the bottom of the spectrum too: along v_d it can only help. The "
                     "witnesses: Σ > 0, Σ > 0 for strictness, then singular Σ under both readings.",
       .check =
           [](const CheckContext& context) {
             return with_condition(decide_kappa(context), kKappaShort);
           }},
      {.id = "P-P1f'",
       .source = "corrects P-P1f",
       .statement = kKappaCondition,
       .assumptions = "Σ >= 0, Σ ≠ 0; eigenvalues λ1 >= ... >= λ_d with eigenvectors v_i",
       .derivation =
           "κ(Σ+μμᵀ) >= κ(Σ) means λmin(Σ+μμᵀ) <= s. Between λ_d and λ_{d-1} ψ rises from "
           "-∞ and passes zero at λmin(Σ+μμᵀ), so ψ(s) >= 0 says just that, or it stays below "
           "zero, and λmin(Σ+μμᵀ) is λ_{d-1}, above which interlacing does not let it go.",
       .check = decide_kappa_condition},
  };
}

}  // namespace

std::vector<Claim> proposition1_claims() {
  auto claims = hessian_claims();
  for (auto& claim : spectrum_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
