// SPDX-License-Identifier: Apache-2.0
// "Post-Gating Bias", the remark on centring upstream and its proof A.4: second moments of X, of U
// = XW_u and of S = U⊙silu(G), and the variance of Y. ‖A‖_∞ is the largest |entry| of A.
#include <optional>
#include <vector>

#include "kappascope/store/schema/layer_probes.h"
#include "theory/arms.h"
#include "theory/checks/centring/second_moments.h"
#include "theory/checks/centring/silu.h"
#include "theory/checks/studies/contrasts.h"
#include "theory/checks/variance_control/masked.h"
#include "theory/families/families.h"
#include "theory/margins.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kRemark = "Post-gating bias, remark on centring upstream and A.4";
constexpr const char* kProof = "Post-gating bias, A.4";
constexpr const char* kTokens = "X is [n, d], μ̄ the average over tokens of E X, X' = X - 1μ̄";
constexpr int kLaws = 500;

constexpr const char* kSiluCondition =
    "the smallest Lipschitz constant is 1.0998…, the slope at 2.3993…; silu rises exactly on "
    "[x0, ∞), x0 = -1.2784… the root of 1 + x + e^x, and falls before it";
constexpr const char* kProductCondition =
    "exactly when Cov(‖U‖_F², ‖A‖_∞²) <= E[‖U‖_F²‖A‖_∞² - ‖U⊙A‖_F²]; enough is that U and A are "
    "independent, which they are not where both are made of one X";
constexpr const char* kSurrogateCondition =
    "only where the gates do not open by more than the mean is worth, so not where a mean keeps "
    "them closed (P-CENe')";

Enclosure decimals(std::int64_t lower, std::int64_t upper) {
  constexpr std::int64_t kUnit = 10000;
  return {Rational(lower, kUnit), Rational(upper, kUnit)};
}

Rational per_token(const Rational& tokens, const Rational& squared_mean) {
  return tokens * squared_mean;
}

Rational once(const Rational& /*tokens*/, const Rational& squared_mean) {
  return squared_mean;
}

std::optional<bool> always(const ProductTerms& /*terms*/) {
  return true;
}

Verdict decide_published_silu(const CheckContext& /*context*/) {
  return with_condition(conjunction({check_lipschitz({0, 1}), check_rises(std::nullopt)}),
                        kSiluCondition);
}

Verdict decide_published_consequence(const CheckContext& context) {
  const auto with_a_mean = [](const SurrogateTerms& terms) {
    return terms.removed > 0 ? std::optional(true) : std::nullopt;
  };
  return with_condition(check_surrogate_falls(with_a_mean, context.seed), kSurrogateCondition);
}

Verdict decide_variance(const CheckContext& context) {
  const auto laws = independent_laws(context.seed, kLaws);
  std::vector<Verdict> parts;
  for (const auto scaling : {Scaling::kPlain, Scaling::kInverted}) {
    const Dropout before{Placement::kBeforeBias, scaling}, after{Placement::kAfterBias, scaling};
    parts.push_back(check_regressor_variance(derived_regressor_variance(before), before, laws));
    parts.push_back(check_regressor_variance(derived_regressor_variance(after), after, laws));
    parts.push_back(check_reduction(bias_reduces_regressor, Quantity::kRegressor, after, laws));
  }
  return proven(conjunction(parts));
}

Verdict decide_absorbed(const CheckContext& context) {
  const auto lowers = [](const LemmaTerms& terms, Dropout) {
    return terms.b == 0 || terms.variance == 0 ? std::nullopt : std::optional(true);
  };
  const auto laws = independent_laws(context.seed, kLaws);
  std::vector<Verdict> parts;
  for (const auto scaling : {Scaling::kPlain, Scaling::kInverted})
    parts.push_back(
        check_reduction(lowers, Quantity::kRegressor, {Placement::kBeforeBias, scaling}, laws));
  return with_condition(conjunction(parts),
                        "never where dropout comes before the bias; where it comes after, a bias "
                        "nearer to -μ makes less of it (P-ABS')");
}

/// The variance of a feature, over features, layers and steps, in trainings with b and without.
Verdict measure_variance(const StudyRuns& study) {
  using enum Direction;
  const auto variance = store::median_over_steps(store::id::kAverageVariance);
  return check_direction(study,
                         {.claimed = {ratio_of(variance, arm::kPgb, arm::kNoBias)},
                          .matters = margin::kStatistic,
                          .beside = {ratio_of(variance, arm::kPgb, arm::kOutputBias)}});
}

}  // namespace

std::vector<Claim> centring_claims() {
  return {
      {.id = "P-CENa",
       .source = kRemark,
       .statement = "Centring lowers E‖X‖_F² by ‖μ̄‖² per token.",
       .assumptions = kTokens,
       .derivation = "E‖X'‖_F² = E‖X‖_F² - 2·n‖μ̄‖² + n‖μ̄‖², the rows of E X adding up to nμ̄.",
       .check =
           [](const CheckContext& context) {
             return with_condition(check_input_drop(per_token, context.seed),
                                   "n‖μ̄‖² in all; strictly exactly when μ̄ ≠ 0");
           }},
      {.id = "P-CENb",
       .source = kProof,
       .statement = "E‖U'‖_F² = E‖U‖_F² - ‖μ̄W_u‖², and the same for G.",
       .assumptions = kTokens,
       .derivation = "P-CENa for XW_u, whose mean row is μ̄W_u. The factor n is missing.",
       .standing = Standing::kNote,
       .check =
           [](const CheckContext& context) {
             return with_condition(check_projected_drop(once, context.seed),
                                   "exactly when n = 1 or μ̄W_u = 0");
           }},
      {.id = "P-CENb'",
       .source = "corrects P-CENb",
       .statement = "E‖U'‖_F² = E‖U‖_F² - n‖μ̄W_u‖², and the same for G.",
       .assumptions = kTokens,
       .derivation = "P-CENa for XW_u, whose mean row is μ̄W_u.",
       .check =
           [](const CheckContext& context) {
             return check_projected_drop(per_token, context.seed);
           }},
      {.id = "P-CENc",
       .source = kRemark,
       .statement = "SiLU is 1-Lipschitz and monotone.",
       .assumptions = "silu(x) = x/(1 + e^{-x})",
       .derivation = "Its slope is more than one around x = 2.4, and negative for x < x0. One pair "
                     "of points refutes each, with e enclosed between fractions.",
       .standing = Standing::kNote,
       .check = decide_published_silu},
      {.id = "P-CENc'",
       .source = "corrects P-CENc",
       .statement = "SiLU has the Lipschitz constant 1.0998…, falls up to x0 = -1.2784… and rises "
                    "from there.",
       .assumptions = "silu(x) = x/(1 + e^{-x})",
       .derivation = "The slope is extreme where x tanh(x/2) = 2, at ±2.3993…, and has the sign of "
                     "the rising function 1 + x + e^x; both roots are enclosed by rational bounds.",
       .check =
           [](const CheckContext& /*context*/) {
             return conjunction(
                 {check_lipschitz(decimals(10998, 10999)), check_rises(decimals(-12785, -12784))});
           }},
      {.id = "P-CENd",
       .source = kProof,
       .statement = "E‖U⊙A‖_F² <= E‖U‖_F² E‖A‖_∞² for A = silu(G).",
       .assumptions = "U = XW_u and G = XW_g of one random X, centred or not",
       .derivation = "True for each X, but an expectation of a product is no product of "
                     "expectations. First with A = G, which is exact, then with silu.",
       .check =
           [](const CheckContext& context) {
             return with_condition(
                 conjunction({check_product_bound(always, Activation::kLinear, context.seed),
                              check_product_bound(always, Activation::kSilu, context.seed)}),
                 kProductCondition);
           }},
      {.id = "P-CENd'",
       .source = "corrects P-CENd",
       .statement = "E‖U⊙A‖_F² <= E‖U‖_F² E‖A‖_∞² exactly when Cov(‖U‖_F², ‖A‖_∞²) <= "
                    "E[‖U‖_F²‖A‖_∞² - ‖U⊙A‖_F²], which is never negative.",
       .assumptions = "finite fourth moments",
       .derivation = "E[‖U‖_F²‖A‖_∞²] = E‖U‖_F² E‖A‖_∞² + Cov, and ‖U⊙A‖_F² <= ‖U‖_F²‖A‖_∞² for "
                     "each X.",
       .check =
           [](const CheckContext& context) {
             return proven(conjunction(
                 {check_product_bound(bound_by_covariance, Activation::kLinear, context.seed),
                  check_product_bound(bound_by_covariance, Activation::kSilu, context.seed)}));
           }},
      {.id = "P-CENe",
       .source = kRemark,
       .statement = "So centring the input lowers the bound E‖U‖_F² E‖silu(G)‖_∞² on the second "
                    "moment of S.",
       .assumptions = "μ̄W_u ≠ 0",
       .derivation = "Only the first factor falls; a mean that closes the gates keeps the second "
                     "small, and centring opens them.",
       .check = decide_published_consequence},
      {.id = "P-CENe'",
       .source = "corrects P-CENe",
       .statement =
           "With G' and U' of the centred input the bound falls exactly when E‖silu(G')‖_∞² "
           "E‖U'‖_F² < E‖silu(G)‖_∞² (E‖U'‖_F² + n‖μ̄W_u‖²).",
       .assumptions = kTokens,
       .derivation = "E‖U‖_F² = E‖U'‖_F² + n‖μ̄W_u‖² (P-CENb').",
       .check =
           [](const CheckContext& context) {
             return proven(check_surrogate_falls(surrogate_falls, context.seed));
           }},
      {.id = "P-CENv",
       .source = kRemark,
       .statement =
           "A trainable post-gating bias takes the baselines over from U and G in training "
           "and thereby reduces the variance of Y.",
       .assumptions = "as in the study; U and G move too, so that no computation at given weights "
                      "decides it",
       .derivation = "The variance of a feature, its mean over features and its median over "
                     "training, with and without b: the factor, paired by seed.",
       .studies = {"pgb-mlp-cifar", "pgb-mlp-mnist", "pgb-mlp-mnist-2x64"},
       .measure = measure_variance},
      {.id = "P-ABS",
       .source = "Post-gating bias, 4.1",
       .statement = "PGB absorbs noisy fluctuations of the latent signal: at given weights it "
                    "lowers the variance of the features that W_d reads.",
       .assumptions = "M independent of S, σ² > 0; dropout before the bias, as in the document",
       .derivation = "A variance does not see a constant.",
       .check = decide_absorbed},
      {.id = "P-ABS'",
       .source = "corrects P-ABS",
       .statement = "At given S and M, Var(MS + b) = Var(MS) for every b; with dropout after the "
                    "bias, Var(M(S + b)) falls exactly when 0 < p < 1 and |μ + b| < |μ|.",
       .assumptions = "M independent of S, σ² > 0",
       .derivation = "A variance does not see a constant; Var(M(S+b)) = E[M²]σ² + Var(M)(μ+b)².",
       .check = decide_variance},
  };
}

}  // namespace kappascope::theory
