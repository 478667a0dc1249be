// SPDX-License-Identifier: Apache-2.0
// "Post-Gating Bias", variance control and the interpretation of Lemma 2: what a bias does to the
// regressor and to the gradient's variance. y = MS + b enters W_d, or φ + b with φ = MS; R is the
// residual (φ + b)W_d - T, and g = y r with r = uᵀγ the gradient along one direction.
#include <utility>

#include "theory/checks/variance_control/intercept.h"
#include "theory/checks/variance_control/masked.h"
#include "theory/checks/variance_control/sample_gradients.h"
#include "theory/exact/linalg.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kSource = "Post-gating bias, 3.2, variance control";
constexpr const char* kReadout = "squared loss, linear readout Z = (φ + b)W_d, W_d fixed";
constexpr const char* kIndependent = "M, S and γ independent, E γ = 0";
constexpr int kLaws = 300;

constexpr Dropout kPaper{};
constexpr Dropout kInverted{Placement::kBeforeBias, Scaling::kInverted};
constexpr Dropout kAfter{Placement::kAfterBias, Scaling::kPlain};
constexpr Dropout kInvertedAfter{Placement::kAfterBias, Scaling::kInverted};

constexpr const char* kRowSpace =
    "exactly when E T - E[φ]W_d lies in the row space of W_d: for every T exactly when rank W_d = "
    "d_model. Otherwise the best b solves W_d E[R] = 0, and the loss stays ½ of the squared "
    "distance to that row space above the best intercept's";
constexpr const char* kCentredGradient =
    "exactly when b* = -μ or every residual is zero; -μ is an optimal intercept exactly when E T = "
    "0. The residual is made of centred features at every b*, and the mean gradient is E[(φ-μ)ᵀR]";
constexpr const char* kGradientCovariance =
    "with R independent of φ the covariance is (Σ + (μ+b)(μ+b)ᵀ) ⊗ Cov R: that of Cov φ exactly "
    "when b = -μ or R = 0, and with the same R no larger than without b, in the order of "
    "semidefinite matrices, exactly when μ + b = cμ with |c| <= 1, or R = 0; the R of another "
    "b is not compared";
constexpr const char* kInflation =
    "read against σ²; against pσ², what a mask leaves of a centred signal, Var(MS) is larger by "
    "p(1-p)μ². With M independent of S Var(MS) > Var(S) exactly when p < 1 and pμ² > σ² for a mask "
    "{0, 1}, never "
    "at μ = 0; for {0, 1/p} exactly when p < 1 and E S² > 0. The mean is pμ for {0, 1}, μ for "
    "{0, 1/p}";
constexpr const char* kReductionShort =
    "E[r²] > 0 and b brings the mean that it is added to nearer to zero, |c + b| < |c|; centred at "
    "b = -c alone. Training goes there only where the mean output overshoots the target (P-L2s')";
constexpr const char* kReduction =
    "with M, S and γ independent, M not zero: a feature's variance falls exactly when E[r²] > 0 "
    "and "
    "|c + b| < |c|, the sum over features exactly when E[r²] > 0 and ‖c + b‖ < ‖c‖, with c = μ E M "
    "for y = "
    "MS + b and c = μ for y = M(S + b); it is centred at b = -c. From b = 0 descent on b lowers "
    "‖μ + b‖ exactly when μW_d(μW_d - E T)ᵀ > 0";
std::optional<bool> always(const ReadoutCase& /*one*/) {
  return true;
}

Verdict decide_gradients(const CheckContext& context) {
  return conjunction({check_sample_gradients(gradients_are_centred, context.seed),
                      check_centring_is_optimal(
                          [](const ReadoutCase& one) -> std::optional<bool> {
                            return one.mean_target().squared_norm() == 0;
                          },
                          context.seed),
                      check_mean_gradient(centred_mean_gradient, context.seed)});
}

Matrix<Rational> published_covariance(const Matrix<Rational>& sigma,
                                      const Vector<Rational>& /*mu*/,
                                      const Vector<Rational>& /*b*/) {
  return sigma;
}

Matrix<Rational> derived_covariance(const Matrix<Rational>& sigma,
                                    const Vector<Rational>& mu,
                                    const Vector<Rational>& b) {
  return sigma + (mu + b) * (mu + b).transpose();
}

Verdict decide_inflation(const CheckContext& context) {
  const auto at_zero_mean = [](const LemmaTerms& terms, Dropout) {
    return terms.mu == 0 && terms.variance > 0 && terms.p < 1 ? std::optional(true) : std::nullopt;
  };
  const auto laws = independent_laws(context.seed, kLaws);
  return conjunction(
      {check_masked_mean(derived_masked_mean(Scaling::kPlain), Scaling::kPlain, laws),
       check_inflation(at_zero_mean, Scaling::kPlain, laws)});
}

Verdict decide_derived_inflation(const CheckContext& context) {
  const auto laws = independent_laws(context.seed, kLaws);
  std::vector<Verdict> parts;
  for (const auto scaling : {Scaling::kPlain, Scaling::kInverted}) {
    const Dropout dropout{Placement::kBeforeBias, scaling};
    parts.push_back(check_masked_mean(derived_masked_mean(scaling), scaling, laws));
    parts.push_back(check_regressor_variance(derived_regressor_variance(dropout), dropout, laws));
    parts.push_back(proven(check_inflation(mask_inflates, scaling, laws)));
  }
  return conjunction(parts);
}

Verdict decide_reduction(const CheckContext& context) {
  auto laws = independent_laws(context.seed, kLaws);
  for (auto& law : laws_without_gradient()) laws.push_back(std::move(law));
  std::vector<Verdict> parts;
  for (const auto& dropout : {kPaper, kInverted, kAfter, kInvertedAfter}) {
    auto each = check_reduction(bias_reduces_gradient, Quantity::kGradient, dropout, laws);
    parts.push_back(parts.empty() ? each : proven(each));
    const auto few = independent_laws(context.seed, kLaws / 3);
    parts.push_back(proven(check_total_reduction(bias_reduces_total, dropout, few)));
  }
  parts.push_back(check_descent_centres(mean_output_overshoots, context.seed));
  return conjunction(parts);
}

Verdict decide_shares(const SharesFormula& formula, const CheckContext& context) {
  const auto laws = independent_laws(context.seed, kLaws);
  return conjunction({check_shares(formula, kPaper, laws), check_shares(formula, kInverted, laws)});
}

std::vector<Claim> intercept_claims() {
  return {
      {.id = "P-VCa",
       .source = kSource,
       .statement = "The optimal intercept is a b with bW_d = E T - E[φ]W_d.",
       .assumptions = kReadout,
       .derivation = "The right side is the best free intercept on Z; b reaches only the row space "
                     "of W_d. The b that minimises the loss is computed from values of the loss.",
       .check =
           [](const CheckContext& context) {
             return holds_exactly_under(
                 kRowSpace, check_intercept_solved(intercept_in_row_space, context.seed));
           }},
      {.id = "P-VCa'",
       .source = "corrects P-VCa",
       .statement =
           "The best b has bW_d = E T - E[φ]W_d exactly when that lies in the row space of "
           "W_d; otherwise it solves W_d E[R] = 0, and the loss exceeds the best "
           "intercept's by ½ of the squared distance to the row space.",
       .assumptions = kReadout,
       .derivation =
           "The loss over b is ½‖h - bW_d‖² and a constant, h = E T - E[φ]W_d: its normal "
           "equations project h onto the row space.",
       .check =
           [](const CheckContext& context) {
             return proven(
                 conjunction({check_intercept_solved(intercept_in_row_space, context.seed),
                              check_excess_loss(normal_equation_excess, context.seed)}));
           }},
      {.id = "P-VCb",
       .source = kSource,
       .statement = "At b* the gradient of a sample for W_d is that of centred features, (φ-μ)ᵀR.",
       .assumptions = "b*W_d = E T - E[φ]W_d, squared loss",
       .derivation =
           "Regressor and residual are two things: R = (φ-μ)W_d - (T - E T) is centred at "
           "b*, the regressor φ + b* is not. A constant feature without any centred part "
           "still has gradients.",
       .check =
           [](const CheckContext& context) {
             return with_condition(check_sample_gradients(always, context.seed), kCentredGradient);
           }},
      {.id = "P-VCb'",
       .source = "corrects P-VCb",
       .statement = "At b* the gradient of every sample is that of centred features exactly when "
                    "b* = -μ or every residual is zero; -μ is an optimal intercept exactly when "
                    "E T = 0; the mean gradient is E[(φ-μ)ᵀR] at every b*.",
       .assumptions = "b*W_d = E T - E[φ]W_d, squared loss",
       .derivation =
           "(φ + b*)ᵀR - (φ-μ)ᵀR = (μ + b*)ᵀR, an outer product, is zero exactly when one "
           "factor is, and its mean is zero because E R = 0 at b*.",
       .check = [](const CheckContext& context) { return proven(decide_gradients(context)); }},
      {.id = "P-VCc",
       .source = kSource,
       .statement = "So with a bias at b* the gradient's covariance falls from E[φφᵀ] to Cov φ.",
       .assumptions = "b*W_d = E T - E[φ]W_d, R independent of φ (times Cov R on both sides)",
       .derivation = "The strongest reading, in which nothing but the regressor matters. Any b is "
                     "b* for some target, so μ + b* may be larger than μ.",
       .check =
           [](const CheckContext& context) {
             return with_condition(check_gradient_covariance(published_covariance, context.seed),
                                   kGradientCovariance);
           }},
      {.id = "P-VCc'",
       .source = "corrects P-VCc",
       .statement = "The gradient's covariance is (Σ + (μ+b)(μ+b)ᵀ) ⊗ Cov R; with the same R it is "
                    "no larger than without b, in the order of semidefinite matrices, exactly when "
                    "μ + b = cμ with |c| <= 1, or R = 0.",
       .assumptions = "bW_d = E T - E[φ]W_d, R independent of φ",
       .derivation = "E[yyᵀ] written out, and E R = 0; A ⊗ Cov R is positive semidefinite exactly "
                     "when A is or R = 0, and μμᵀ - (μ+b)(μ+b)ᵀ is exactly when μ + b is a "
                     "multiple of μ and no longer.",
       .check =
           [](const CheckContext& context) {
             return proven(
                 conjunction({check_gradient_covariance(derived_covariance, context.seed),
                              check_covariance_falls(shifted_mean_shrinks, context.seed)}));
           }},
  };
}

std::vector<Claim> masking_claims() {
  return {
      {.id = "P-DROP",
       .source = "Post-gating bias, 3.2, stochastic perturbations from dropout",
       .statement =
           "Even where E S = 0 the masked signal MS has mean pμ and a variance inflated by "
           "p(1-p).",
       .assumptions = "M in {0, 1} with P(M = 1) = p, independent of S",
       .derivation = "The mean is right. Var(MS) = pσ² + p(1-p)μ²: what p(1-p) multiplies vanishes "
                     "with μ, and pσ² < σ². Decided where μ = 0, σ² > 0 and p < 1.",
       .standing = Standing::kNote,
       .check =
           [](const CheckContext& context) {
             return with_condition(decide_inflation(context), kInflation);
           }},
      {.id = "P-DROP'",
       .source = "corrects P-DROP",
       .statement =
           "With q = E M and w = E M², E[MS] = qμ and Var(MS) = wσ² + (w-q²)μ². It exceeds "
           "σ² exactly when p < 1 and pμ² > σ² for a mask {0, 1}, and exactly when p < 1 "
           "and E S² > 0 for {0, 1/p}.",
       .assumptions =
           "M independent of S; (q, w) is (p, p) for a mask {0, 1}, (1, 1/p) for {0, 1/p}",
       .derivation = "pσ² + p(1-p)μ² - σ² = (1-p)(pμ² - σ²), and (σ² + (1-p)μ²)/p - σ² = "
                     "(1-p)(σ² + μ²)/p.",
       .check = decide_derived_inflation},
      {.id = "P-L2s",
       .source = "Post-gating bias, 3.3, interpretation of Lemma 2",
       .statement = "A post-gating bias centres each regressor and strictly reduces the gradient's "
                    "variance.",
       .assumptions = kIndependent,
       .derivation =
           "Var(g) at b less Var(g) at 0 is E[r²]((c+b)² - c²), c the mean that b is added "
           "to. Training moves b along -W_d E[R], which centres the output on the target, "
           "not the regressor on zero: the last two witnesses.",
       .check =
           [](const CheckContext& context) {
             return holds_exactly_under(kReductionShort, decide_reduction(context));
           }},
      {.id = "P-L2s'",
       .source = "corrects P-L2s",
       .statement = kReduction,
       .assumptions = kIndependent,
       .derivation =
           "E[y²] = Var(MS) + (c+b)² for y = MS + b, E[M²](σ² + (c+b)²) for y = M(S + b); "
           "∂L/∂b = W_d E[R], and at b = 0 μᵀW_d E[R] is the inner product of the mean "
           "output and its excess over the target.",
       .check = [](const CheckContext& context) { return proven(decide_reduction(context)); }},
      {.id = "P-NODROP",
       .source = "ours: what of Lemma 2 is left without dropout, as in 4.3",
       .statement = "The best b takes away E[r²](μ E M)² and leaves E[r²]((E M)²σ² + Var(M) "
                    "E[S²]), of which "
                    "the second part is all that the mask adds. At p = 1 it takes away E[r²]μ², "
                    "and no part of it comes from "
                    "dropout.",
       .assumptions = "M, S and γ independent, E γ = 0, y = MS + b",
       .derivation = "Var(g) = E[r²](E[M²]σ² + Var(M)μ² + (c+b)²) and E[M²] = Var(M) + (E M)². "
                     "That the effect is not tied to gated dropout is what section 5 says too.",
       .check = [](const CheckContext& context) { return decide_shares(derived_shares, context); }},
  };
}

}  // namespace

std::vector<Claim> variance_control_claims() {
  auto claims = intercept_claims();
  for (auto& claim : masking_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
