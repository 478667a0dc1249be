// SPDX-License-Identifier: Apache-2.0
// Lemma 1 and the minimum-MSE remark of "Post-Gating Bias": which map carries a constant offset.
#include "theory/checks/offsets/alignment.h"
#include "theory/checks/offsets/least_error.h"
#include "theory/checks/offsets/minimal_change.h"
#include "theory/checks/offsets/vanishing_noise.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kLemma = "Post-gating bias, Lemma 1 and A.1";
constexpr const char* kNormRemark = "Post-gating bias, operator-norm remark";
constexpr const char* kErrorRemark = "Post-gating bias, minimum-MSE remark";
constexpr const char* kFit = "Δ of any shape [m, n] with Δ b_in = b_out, b_in ≠ 0";
constexpr const char* kNoise = "x has mean 0 and covariance Σ >= 0; H = Σ + b_in b_inᵀ";

Verdict decide_least_fit(const CheckContext& context) {
  return holds_under("b_in ≠ 0; for b_in = 0 there is no exact fit unless b_out = 0",
                     check_least_fit(published_least_fit, offset_pairs(context.seed)),
                     check_least_fit(published_least_fit, pairs_without_input()));
}

Verdict decide_corrected_fit(const CheckContext& context) {
  return conjunction({check_least_fit(least_fit, offset_pairs(context.seed)),
                      check_least_fit(least_fit, pairs_without_input())});
}

Verdict decide_norm_growth(const CheckContext& context) {
  return with_condition(check_norm_grows(published_norm_grows, context.seed),
                        "‖Δ‖ > ‖Δ*‖ exactly when Eᵀb_out ≠ 0 or ‖E‖ > ‖b_out‖/‖b_in‖, "
                        "E = Δ - Δ*; so for every Δ ≠ Δ* when there is one output or b_out = 0");
}

Verdict decide_least_error(const CheckContext& context) {
  return holds_under("Σ + b_in b_inᵀ > 0, that is no direction orthogonal to b_in is without noise",
                     check_least_error(published_least_error, regular_offsets(context.seed)),
                     check_least_error(published_least_error, singular_offsets(context.seed)));
}

Verdict decide_limit(const CheckContext& context) {
  return with_condition(check_limit(published_limit, context.seed),
                        "along Σ = εΣ0, ε -> 0, exactly when b_in is an eigenvector of Σ0 (of a "
                        "singular Σ0 too, with the smallest minimiser); for Σ0 = I always");
}

Verdict decide_derived_limit(const CheckContext& context) {
  return conjunction({check_limit(derived_limit, context.seed),
                      check_limit_condition(along_eigenvector, context.seed)});
}

Verdict decide_alignment(const CheckContext& context) {
  return holds_under(
      "the change of least norm, and the one of least mean-square error where μ is an eigenvector "
      "of Σ",
      check_alignment(Correction::kLeastChange, aligned_with_mean, context.seed),
      check_alignment(Correction::kLeastError, aligned_with_mean, context.seed));
}

Verdict decide_derived_alignment(const CheckContext& context) {
  return conjunction({check_alignment(Correction::kLeastError, mean_is_eigenvector, context.seed),
                      check_correction_direction(whitened_mean, context.seed)});
}

std::vector<Claim> fit_claims() {
  return {
      {.id = "P-L1",
       .source = kLemma,
       .statement = "min ‖Δ‖_F subject to Δ b_in = b_out has the unique solution "
                    "Δ* = b_out b_inᵀ/‖b_in‖², and Δ*x = 0 for x orthogonal to b_in.",
       .assumptions = "Δ of any shape [m, n]",
       .derivation = "Compared with the solution of the optimality conditions of the strictly "
                     "convex problem. The witness: b_in = 0, with which nothing but 0 fits.",
       .standing = Standing::kNote,
       .check = decide_least_fit},
      {.id = "P-L1'",
       .source = "corrects P-L1",
       .statement = "There is an exact fit exactly when b_in ≠ 0 or b_out = 0; the smallest is "
                    "then unique, b_out b_in⁺ with b_in⁺ = b_inᵀ/‖b_in‖², or 0 for b_in = 0.",
       .assumptions = "Δ of any shape [m, n]",
       .derivation = "The same comparison, b_in = 0 included.",
       .check = decide_corrected_fit},
      {.id = "P-L1a",
       .source = kNormRemark,
       .statement = "Δ* minimises all spectral norms, read as every unitarily invariant norm.",
       .assumptions = kFit,
       .derivation = "‖Δ‖ >= ‖Δ b_in‖/‖b_in‖ = s, and Δ* has the one singular value s, so by Fan "
                     "dominance the operator norm decides for all. Exactly: Δ* has rank <= 1 and "
                     "tr Δ*ᵀΔ* = s², and no fit has ΔᵀΔ < s²I.",
       .check =
           [](const CheckContext& context) { return check_least_norm(least_norm, context.seed); }},
      {.id = "P-L1b",
       .source = kNormRemark,
       .statement = "Every exact fit other than Δ* has a larger operator norm.",
       .assumptions = kFit,
       .derivation = "s²I - ΔᵀΔ can stay positive semidefinite: what Δ does orthogonally to b_in "
                     "is hidden below s when it ends orthogonally to b_out.",
       .check = decide_norm_growth},
      {.id = "P-L1b'",
       .source = "corrects P-L1b",
       .statement = "With Δ = Δ* + E, ‖Δ‖ > ‖Δ*‖ = s exactly when Eᵀb_out ≠ 0 or ‖E‖ > s, "
                    "s = ‖b_out‖/‖b_in‖.",
       .assumptions = kFit,
       .derivation = "ΔΔᵀ = s²vvᵀ + EEᵀ, v the unit vector along b_out. If Eᵀv ≠ 0 its quadratic "
                     "form at v is above s²; otherwise v is an eigenvector, and the rest is ‖E‖.",
       .check =
           [](const CheckContext& context) { return check_norm_grows(norm_grows, context.seed); }},
  };
}

std::vector<Claim> error_claims() {
  return {
      {.id = "P-MSEa",
       .source = "Post-gating bias, minimum-MSE remark and A.2",
       .statement = "E‖b_out - Δ(b_in + x)‖² has the unique minimiser b_out b_inᵀH⁻¹ with minimum "
                    "‖b_out‖²(1 - b_inᵀH⁻¹b_in).",
       .assumptions = kNoise,
       .derivation = "Compared with a least-squares fit to all outcomes of a finite law of x. The "
                     "witness: a singular H, which Σ >= 0 allows.",
       .standing = Standing::kNote,
       .check = decide_least_error},
      {.id = "P-MSEa'",
       .source = "corrects P-MSEa",
       .statement = "b_out b_inᵀH⁺ is a minimiser, the only one exactly when H > 0. The minimum is "
                    "‖b_out‖²/(1 + b_inᵀΣ⁺b_in) for b_in in the range of Σ, and otherwise 0.",
       .assumptions = kNoise,
       .derivation = "The normal equations HΔᵀ = b_in b_outᵀ are always solvable. For b_in = Σy, "
                     "Hy = (1 + b_inᵀy)b_in; otherwise some z has Σz = 0 and b_inᵀz = 1.",
       .check =
           [](const CheckContext& context) {
             return conjunction({check_least_error(least_error, regular_offsets(context.seed)),
                                 check_least_error(least_error, singular_offsets(context.seed))});
           }},
      {.id = "P-MSEb",
       .source = kErrorRemark,
       .statement = "As Σ -> 0 this minimiser tends to Lemma 1's Δ*.",
       .assumptions = "b_in ≠ 0; along Σ = εΣ0 for every Σ0 >= 0",
       .derivation = "The minimiser is a rational function of ε whose limit is read off exactly. "
                     "It depends on the direction Σ0, so no continuous limit exists for n >= 2.",
       .check = decide_limit},
      {.id = "P-MSEb'",
       .source = "corrects P-MSEb",
       .statement = "Along Σ = εΣ0 the smallest minimiser tends to b_out wᵀ/(b_inᵀw), w = Σ0⁺b_in "
                    "for b_in in the range of Σ0 and otherwise the part of b_in in ker Σ0; it is "
                    "Lemma 1's exactly when b_in is an eigenvector of Σ0.",
       .assumptions = "b_in ≠ 0, Σ0 >= 0",
       .derivation =
           "(εΣ0 + b_in b_inᵀ)w is (ε + b_inᵀw)b_in for b_in in the range and (b_inᵀw)b_in "
           "otherwise. Of all exact fits the limit has the least tr ΔΣ0Δᵀ, not the "
           "least ‖Δ‖_F.",
       .check = decide_derived_limit},
      {.id = "P-ALIGN",
       .source = "Post-gating bias, 3.2 (ill-conditioning)",
       .statement = "The weight-only correction that makes an expected output is of rank one and "
                    "aligned with the mean μ of the features.",
       .assumptions = "Σ + μμᵀ > 0, μ ≠ 0; the corrections of 3.1 with b_in = μ",
       .derivation = "b_out μᵀ/‖μ‖² is. The one of least error is b_out μᵀ(Σ + μμᵀ)⁻¹, along Σ⁻¹μ.",
       .check = decide_alignment},
      {.id = "P-ALIGN'",
       .source = "corrects P-ALIGN",
       .statement = "The minimum-MSE correction reads the features along Σ⁻¹μ for Σ > 0, which is "
                    "the direction of μ exactly when μ is an eigenvector of Σ.",
       .assumptions = "Σ + μμᵀ > 0, μ ≠ 0",
       .derivation = "(Σ + μμᵀ)Σ⁻¹μ = (1 + μᵀΣ⁻¹μ)μ. Compared with least squares on outcomes.",
       .check = decide_derived_alignment},
  };
}

}  // namespace

std::vector<Claim> offsets_claims() {
  auto claims = fit_claims();
  for (auto& claim : error_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
