// SPDX-License-Identifier: Apache-2.0
// "Post-Gating Bias", what its conditioning means for first-order training: the joint problem of
// weights and intercept, gradient descent towards the minimal-change solution, and the rank-one
// correction of W_d.
#include "theory/checks/descent/bias_path.h"
#include "theory/checks/descent/correction.h"
#include "theory/checks/descent/gated_draws.h"
#include "theory/checks/descent/gradient_descent.h"
#include "theory/checks/descent/joint.h"
#include "theory/checks/descent/offset_target.h"
#include "theory/checks/proposition1/block_hessian.h"
#include "theory/exact/linalg.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kOffset = "squared error ½E‖Δ(x + b_in) - b_out‖², E x = 0, Cov x = Σ";

constexpr const char* kJointCondition =
    "never strictly: the joint problem of (W, c) is at best as well conditioned as W alone, as "
    "explicit centring, whose Hessian is diag(Σ, 1), and as Σ, which is left when c is eliminated; "
    "the joint Hessian of (W_d, b) likewise encloses its own W_d block. That is the worst case; "
    "towards a constant target descent can be faster with c, and slower";
constexpr const char* kArrivalCondition =
    "one sample a step at a constant step size: it is at rest at Δ* exactly when one Δ fits every "
    "sample with x + b_in ≠ 0. Full gradients from Δ_0 = 0 do find Δ* at a step below 2/λmax(Σ + "
    "b_in b_inᵀ), and so does the mean over all paths of SGD, which a path's mean over time need "
    "not follow";
constexpr const char* kCorrectionCondition =
    "either way: with σ1 >= ... >= σ_r of W and Δ of rank one, σ2/σ_{r-1} <= κ(W + Δ), and κ(W + "
    "Δ) <= (σ1 + ‖Δ‖)/(σ_r - ‖Δ‖) where ‖Δ‖ < σ_r. κ is no smaller than before where ‖Δ‖ >= σ1(1 + "
    "σ_{r-1}/σ_r)";

std::optional<bool> inflates(const CorrectionCase& /*one*/) {
  return true;
}

/// First-order training has no reason to find Δ*: it does not, from Δ = 0.
std::optional<bool> does_not_arrive(const OffsetCase& one) {
  return one.start.squared_norm() == 0 ? std::optional(false) : std::nullopt;
}

Verdict decide_joint(const CheckContext& context) {
  const auto seed = context.seed;
  return conjunction({check_ends_enclose(joint_beside(weight_block, seed)),
                      check_ends_enclose(joint_beside(centred_problem, seed)),
                      check_ends_enclose(bias_beside_block(seed)),
                      check_joint_identity(sheared_centred, seed),
                      check_steps(weight_block, seed),
                      check_steps(centred_problem, seed),
                      check_share_bound(derived_share_bound, seed),
                      check_offset_steps(offset_targets())});
}

Verdict decide_descent(const CheckContext& context) {
  const auto seed = context.seed;
  return proven(conjunction({check_iterates(derived_iterate, seed),
                             check_arrival(starts_off_kernel, seed),
                             check_is_exact_fit(offset_is_undisturbed, seed),
                             check_mean_of_paths(derived_iterate, seed)}));
}

}  // namespace

std::vector<Claim> descent_claims() {
  return {
      {.id = "P-JOINT",
       .source = "Post-gating bias, Proposition 1, implication",
       .statement =
           "So training with a trainable intercept is better conditioned for a first-order "
           "method: κ of the problem in (W, c) is below κ(Σ+μμᵀ), or at most as large.",
       .assumptions = "squared loss, Z = φW + c, φ has mean μ and covariance Σ > 0",
       .derivation =
           "A first-order method sees the joint Hessian [Σ+μμᵀ, μ; μᵀ, 1], in which W's "
           "is a principal submatrix; Σ is what elimination leaves, which it does not do. "
           "(Without c the minimum is another one.)",
       .check =
           [](const CheckContext& context) {
             return with_condition(check_no_worse(weight_block, context.seed), kJointCondition);
           }},
      {.id = "P-JOINT'",
       .source = "corrects P-JOINT",
       .statement =
           "κ(J) >= κ(Σ+μμᵀ), κ(diag(Σ, 1)) and κ(Σ) for the joint Hessian J of (W, c); that of "
           "(W_d, b) has its ends outside those of its W_d block. Worst start: gradient descent "
           "takes no fewer steps on J. Offset target T = 1 from W = 0, c = 0: after k steps of "
           "η <= 1/λmax(J) the excess loss is at most 1/(η(2k+1)) of the first, whatever Σ is; "
           "without c there is no such bound. To 1 %, η = 1/λmax: Σ = diag(1, 1/1000), "
           "μ = (0, 3/100) takes 1 step with c and 1,211 without; Σ = μ = 1 takes 11 and 1.",
       .assumptions = "squared loss, Σ > 0 (the bound: Σ >= 0); worst start: best constant step, "
                      "to 1e-6",
       .derivation = "Interlacing for the block. J = L diag(Σ, 1) Lᵀ with L = [I, μ; 0, 1]: J has "
                     "Σ+μμᵀ and 1 on its diagonal, J⁻¹ has Σ⁻¹ and 1 + μᵀΣ⁻¹μ, so J's ends enclose "
                     "those of diag(Σ, 1). Steps from the worst start grow with κ. The share of "
                     "the excess is a mean of λ(1-ηλ)^{2k} over J's eigenvalues, each at most "
                     "1/(η(2k+1)).",
       .check = decide_joint},
      {.id = "P-PATH",
       .source = "ours, beside Proposition 1 and Lemma 2: where training takes b",
       .statement =
           "Descent on b alone ends at -μ exactly when W_d E T = 0 and μ + b_0 lies in the range "
           "of W_d, which has at most d_model of the d_ff dimensions; the part of μ + b_0 outside "
           "stays. With e = E R, a step of b moves the mean output by -η eW_dᵀW_d, and one of W_d "
           "by -η(‖μ+b‖²e + (μ+b)ᵀCov(φ, R)): b rests wherever the output has the target's mean, "
           "however large μ + b is there, and at Cov(φ, R) = 0 the larger part of the move is "
           "W_d's where ‖μ+b‖ > σ1(W_d).",
       .assumptions = "squared loss, Z = (φ + b)W_d, the layers in front at rest, full gradients "
                      "at a constant rate below 2/σ1(W_d)²",
       .derivation = "∂L/∂b = W_d eᵀ lies in the range of W_d, so b - b_0 does; e is affine in b, "
                     "and descent ends where W_d eᵀ = 0, which for b = -μ says W_d E T = 0. "
                     "∂L/∂W_d = Cov(φ, R) + (μ+b)e.",
       .check =
           [](const CheckContext& context) {
             return proven(conjunction({check_centres(mean_in_range, context.seed),
                                        check_mean_moves(derived_moves, context.seed)}));
           }},
      {.id = "P-BEHIND",
       .source = "ours, beside P-JOINT: a bias in front of W_d and an intercept behind it",
       .statement =
           "Where W_d has rank d_model, b and c make the same functions, and are not optimised "
           "alike. At b = -μ and E R = 0 the joint Hessian of (W_d, b) is diag(Σ ⊗ I, W_dW_dᵀ), as "
           "if the features were centred; that of (W_d, c) is the same at every c. Σ = I, μ = "
           "(10, 0), W_d = I: κ is 101 for W_d alone, 1 with b and 10,402 with c, as with b = 0 "
           "and "
           "E R = 0. P-PATH says when descent on b comes to -μ.",
       .assumptions = "squared loss",
       .derivation = "Between W_d and b stands (μ+b) ⊗ W_dᵀ + I ⊗ E R, between W_d and c stands "
                     "μ ⊗ I. [101, 10; 10, 1] has trace 102 and determinant 1: κ + 1/κ = 102² - 2.",
       .check =
           [](const CheckContext& context) {
             return proven(conjunction(
                 {check_joint(joint_hessian, context.seed), check_conditions({101, 1, 10'402})}));
           }},
      {.id = "P-SGD",
       .source = "Post-gating bias, 3.1",
       .statement = "SGD may not discover the minimal-change solution Δ* = "
                    "b_out b_inᵀ(Σ + b_in b_inᵀ)⁻¹ and has no reason to recover it.",
       .assumptions = kOffset,
       .derivation =
           "Gradient descent from Δ = 0 has Δ_t = Δ*(I - (I - ηH)^t), H = Σ + b_in b_inᵀ: "
           "its steps never leave the range of H, so of all minimisers it finds the one of "
           "least norm: the witness. The gradient of one sample at Δ* is not zero.",
       .check =
           [](const CheckContext& context) {
             return holds_under(kArrivalCondition,
                                proven(check_rest(one_map_fits_all, context.seed)),
                                check_arrival(does_not_arrive, context.seed));
           }},
      {.id = "P-SGD'",
       .source = "corrects P-SGD",
       .statement = "Full gradients at a constant step below 2/λmax(H) come to Δ* exactly when Δ_0 "
                    "vanishes on ker H, as Δ_0 = 0 does; the mean over all paths of one-sample SGD "
                    "takes the same steps, which single paths need not. Δ* is Lemma 1's exactly "
                    "when b_out = 0 or Σb_in = 0.",
       .assumptions = kOffset,
       .derivation = "Δ_t = Δ* + (Δ_0 - Δ*)(I - ηH)^t with Δ* = b_out b_inᵀH⁺: no step changes the "
                     "part on ker H, and the others shrink. A sample's gradient at Δ* is (Δ*y - "
                     "b_out)yᵀ, y = x + b_in, which is affine in Δ: so the mean of the paths is "
                     "the path of the mean.",
       .check = decide_descent},
      {.id = "P-KW",
       .source = "Post-gating bias, 3.2",
       .statement = "The rank-one correction Δ = b_out b_inᵀ/‖b_in‖² inflates κ(W_d).",
       .assumptions = "W_d of full rank, κ(W) = σ1/σ_r",
       .derivation =
           "It inflates where it adds to the largest singular value, and lowers κ where it "
           "adds to the smallest; b_in has a direction among features, not among W_d's "
           "singular vectors.",
       .check =
           [](const CheckContext& context) {
             return with_condition(check_correction_inflates(inflates, context.seed),
                                   kCorrectionCondition);
           }},
      {.id = "P-KW'",
       .source = "corrects P-KW",
       .statement = "Whatever b_in ≠ 0 and b_out are, σ2 <= σ1(W + Δ) <= σ1 + ‖Δ‖ and σ_r - ‖Δ‖ <= "
                    "σ_r(W + Δ) <= σ_{r-1}, ‖Δ‖ = ‖b_out‖/‖b_in‖; so κ(W + Δ) >= σ2/σ_{r-1}, which "
                    "may be below κ(W). It is no smaller than κ(W) where ‖Δ‖ >= σ1(1 + "
                    "σ_{r-1}/σ_r).",
       .assumptions = "W of full rank r; for r = 1, σ2 = 0 and there is no σ_{r-1}",
       .derivation = "Weyl's inequalities for singular values and a matrix of rank one. σ1(W + Δ) "
                     ">= ‖Δ‖ - σ1, over σ_r(W + Δ) <= σ_{r-1}.",
       .check =
           [](const CheckContext& context) {
             return conjunction({check_singular_bounds(interlacing_bounds, context.seed),
                                 check_correction_inflates(inflates_from(1), context.seed)});
           }},
      {.id = "P-P1r",
       .source = "ours, for Proposition 1",
       .statement = "On random gated features κ(Σ+μμᵀ) >= κ(Σ) in every draw.",
       .assumptions = "φ = u⊙silu(g), u = xW_u, g = xW_g, Gaussian weights, 16 inputs of variance "
                      "one, centred, shifted or heavy-tailed; n/d of 2, 10 and 100",
       .derivation = "The share of draws in which it is so, from the moments of each sample.",
       .check =
           [](const CheckContext& context) {
             return check_gated_share([](double second_moment,
                                         double covariance) { return second_moment >= covariance; },
                                      context.seed);
           }},
      {.id = "P-DOM",
       .source = "Post-gating bias, 3.2 (variance control)",
       .statement = "The rank-one part μμᵀ dominates the spectrum of Σ + μμᵀ: ‖μ‖² >= λmax(Σ).",
       .assumptions = "the random gated features of P-P1r; those of a training are P-DOMr",
       .derivation = "The share of draws in which it is so, from the moments of each sample.",
       .check =
           [](const CheckContext& context) {
             return check_mean_share(
                 [](double squared_mean, double top) { return squared_mean >= top; }, context.seed);
           }},
  };
}

}  // namespace kappascope::theory
