// SPDX-License-Identifier: Apache-2.0
// Lemma 2 of "Post-Gating Bias": the variance of the gradient of one row of W_d under dropout.
// g = y r with y = MS + b and r = uᵀγ; p = P(M = 1), μ = E S, σ² = Var S.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "kappascope/core/statistics.h"
#include "kappascope/store/schema/layer_probes.h"
#include "theory/arms.h"
#include "theory/checks/lemma2/draws.h"
#include "theory/checks/lemma2/variance.h"
#include "theory/checks/measured_run.h"
#include "theory/checks/studies/ratios.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kSource = "Post-gating bias, Lemma 2 and A.5";
constexpr const char* kPrinted = "E S = μ, Var S = σ², M independent of γ, E γ = 0";
constexpr const char* kIndependent = "M, S and γ independent, E γ = 0";
constexpr int kLaws = 500;
constexpr int kDrawnLaws = 12;

constexpr Dropout kPaper{};
const std::vector<Dropout>& other_dropouts() {
  static const std::vector<Dropout> all{{Placement::kBeforeBias, Scaling::kInverted},
                                        {Placement::kAfterBias, Scaling::kPlain},
                                        {Placement::kAfterBias, Scaling::kInverted}};
  return all;
}

// By enumeration of many laws, and by draws of some.
Verdict decide_derived_variance(Dropout dropout, std::uint64_t seed) {
  return conjunction(
      {check_variance(derived_variance(dropout), dropout, independent_laws(seed, kLaws)),
       check_variance_by_draws(
           derived_variance(dropout), dropout, independent_laws(seed, kDrawnLaws), seed)});
}

Verdict decide_dependent_minimum(const CheckContext& context) {
  std::vector<Verdict> parts{
      check_minimum_of_law(dependent_minimum, kPaper, arbitrary_laws(context.seed, kLaws)),
      check_minimum_of_law(dependent_minimum, kPaper, laws_without_gradient())};
  for (const auto& dropout : other_dropouts()) {
    parts.push_back(
        check_minimum_of_law(dependent_minimum, dropout, printed_laws(context.seed, kLaws)));
  }
  return conjunction(parts);
}

Verdict decide_minimum(const CheckContext& context) {
  return conjunction(
      {check_minimum(published_minimum, kPaper, independent_laws(context.seed, kLaws)),
       check_minimum(published_minimum, kPaper, laws_without_gradient())});
}

Verdict decide_derived_minimum(const CheckContext& context) {
  return conjunction(
      {check_minimum(derived_minimum(kPaper), kPaper, independent_laws(context.seed, kLaws)),
       check_minimum(derived_minimum(kPaper), kPaper, laws_without_gradient())});
}

Verdict decide_other_dropouts(const CheckContext& context) {
  std::vector<Verdict> parts;
  for (const auto& dropout : other_dropouts()) {
    const auto laws = independent_laws(context.seed, kLaws);
    parts.push_back(check_minimum(published_minimum, dropout, laws));
  }
  return conjunction(parts);
}

Verdict decide_derived_dropouts(const CheckContext& context) {
  std::vector<Verdict> parts;
  for (const auto& dropout : other_dropouts()) {
    const auto laws = independent_laws(context.seed, kLaws / 2);
    parts.push_back(decide_derived_variance(dropout, context.seed));
    parts.push_back(check_minimum(derived_minimum(dropout), dropout, laws));
  }
  return conjunction(parts);
}

Rational exact_decomposition(const JointMoments& of) {
  return of.y2 * of.r2 + of.covariance - of.mean * of.mean;
}

bool dependence_cancels(const JointMoments& of) {
  return of.covariance == of.mean * of.mean;
}

Verdict formula_of_run(const CheckContext& context) {
  return check_gradient_variance(*context.run, store::id::kVariancePublished);
}

/// The formula as printed and as derived for the masks of the runs, side by side, and where b
/// ended.
Verdict formulas_of_study(const StudyRuns& study) {
  auto printed = check_each_run(study, arm::kPgb, EachRun::kNumber, formula_of_run);
  const auto derived =
      check_each_run(study, arm::kPgb, EachRun::kNumber, [](const CheckContext& run) {
        return check_gradient_variance(*run.run, store::id::kVarianceDerived);
      });
  if (printed.outcome != Outcome::kMeasured) return printed;
  printed.condition =
      "as printed: " + printed.condition + "; as derived (P-L2d'): " + derived.condition;
  for (const auto& [name, what] : {std::pair(store::id::kBiasCos, "cosine of b and -μ"),
                                   std::pair(store::id::kBiasResidual, "‖μ + b‖/‖μ‖")}) {
    std::vector<double> ends;
    for (const auto& run : study.runs) {
      const auto found = run.values.find(name);
      if (run.arm == arm::kPgb && found != run.values.end()) ends.push_back(found->second.value);
    }
    printed.condition +=
        fmt::format("; {} at the end, median over runs: {:.3g}", what, median(ends));
  }
  return printed;
}

std::vector<Claim> formula_claims() {
  return {
      {.id = "P-L2a",
       .source = kSource,
       .statement = "Var(g) = E[r²](pσ² + (pμ + b)²).",
       .assumptions = kPrinted,
       .derivation =
           "A.5 puts Var(MS + b), which does not depend on b, where E[(MS + b)²] belongs, "
           "and drops the p(1-p)μ² of the line before. Decided in the strongest reading, "
           "M, S and γ independent; P-L2c asks for the printed one.",
       .check =
           [](const CheckContext& context) {
             return with_condition(
                 check_variance(published_variance, kPaper, independent_laws(context.seed, kLaws)),
                 "with M, S and γ independent, right exactly when p(1-p)μ²E[r²] = 0");
           }},
      {.id = "P-L2a'",
       .source = "corrects P-L2a",
       .statement = "Var(g) = E[r²](pσ² + p(1-p)μ² + (pμ + b)²).",
       .assumptions = kIndependent,
       .derivation = "E[yr] = 0, so Var(g) = E[y²]E[r²], and E[y²] = Var(MS) + (pμ + b)².",
       .check =
           [](const CheckContext& context) {
             return decide_derived_variance(kPaper, context.seed);
           }},
      {.id = "P-L2b",
       .source = kSource,
       .statement = "Var(g) has the unique minimiser b* = -pμ with minimum E[r²]pσ², for any u.",
       .assumptions = kPrinted,
       .derivation = "Decided with M, S and γ independent. The place is right; the minimum lacks "
                     "p(1-p)μ², which no b removes; u = 0, or u orthogonal to γ, makes every b as "
                     "good.",
       .check =
           [](const CheckContext& context) {
             return with_condition(decide_minimum(context),
                                   "with M, S and γ independent: the minimiser is -pμ, unique "
                                   "exactly when E[r²] > 0; the minimum is right exactly when "
                                   "p(1-p)μ²E[r²] = 0");
           }},
      {.id = "P-L2b'",
       .source = "corrects P-L2b",
       .statement = "The minimiser is b* = -pμ, unique exactly when E[r²] > 0, with minimum "
                    "E[r²](pσ² + p(1-p)μ²).",
       .assumptions = kIndependent,
       .derivation = "The vertex of the quadratic of P-L2a', whose leading coefficient is E[r²].",
       .check = decide_derived_minimum},
  };
}

std::vector<Claim> assumption_claims() {
  return {
      {.id = "P-L2c",
       .source = kSource,
       .statement = "The printed assumptions suffice for Var(g) = E[r²]E[(MS + b)²].",
       .assumptions = kPrinted,
       .derivation =
           "They leave S free to depend on γ, and on M. Asked of the corrected formula, so "
           "that only the assumptions are at stake.",
       .check =
           [](const CheckContext& context) {
             return with_condition(
                 check_variance(
                     derived_variance(kPaper), kPaper, printed_laws(context.seed, kLaws)),
                 "Var(g) = E[y²]E[r²] exactly when Cov(y², r²) = (E[yr])²; enough is (M, S) "
                 "independent of γ, and M of S for E[y²] = pσ² + p(1-p)μ² + (pμ + b)²");
           }},
      {.id = "P-L2c'",
       .source = "corrects P-L2c",
       .statement = "Always Var(g) = E[y²]E[r²] + Cov(y², r²) - (E[yr])², so Var(g) = E[y²]E[r²] "
                    "exactly when Cov(y², r²) = (E[yr])².",
       .assumptions = "finite fourth moments",
       .derivation = "E[y²r²] = E[y²]E[r²] + Cov(y², r²).",
       .check =
           [](const CheckContext& context) {
             const auto laws = arbitrary_laws(context.seed, 2 * kLaws);
             return conjunction({check_decomposition(exact_decomposition, laws),
                                 check_product_condition(dependence_cancels, laws)});
           }},
      {.id = "P-L2d",
       .source = "ours: Lemma 2 carried over to what LibTorch's dropout does",
       .statement =
           "Lemma 2's minimiser -pμ and minimum E[r²]pσ² carry over to a mask {0, 1/p} and to "
           "dropout after the bias.",
       .assumptions = kIndependent,
       .derivation = "Inverted dropout has E M = 1 and E M² = 1/p; after the bias y = M(S + b) "
                     "vanishes with M, so only b = -μ centres it.",
       .check =
           [](const CheckContext& context) {
             return with_condition(decide_other_dropouts(context),
                                   "minimiser and minimum over E[r²]: y = MS + b with {0, 1/p}: "
                                   "-μ, σ²/p + μ²(1-p)/p; y = M(S + b) with {0, 1}: -μ, pσ²; with "
                                   "{0, 1/p}: -μ, σ²/p");
           }},
      {.id = "P-L2d'",
       .source = "corrects P-L2d",
       .statement = "With q = E M and w = E M², Var(g)/E[r²] is wσ² + (w-q²)μ² + (qμ + b)² for "
                    "y = MS + b, least at b = -qμ, and w(σ² + (μ + b)²) for y = M(S + b), least at "
                    "b = -μ.",
       .assumptions = kIndependent,
       .derivation = "E[y²] written out; (q, w) is (p, p) for a mask {0, 1} and (1, 1/p) for "
                     "{0, 1/p}.",
       .check = decide_derived_dropouts},
      {.id = "P-L2f",
       .source = "ours: Lemma 2 without its independence assumptions",
       .statement =
           "For any joint law Var(g) is least at b* = -Cov(xr, kr)/Var(kr), y = x + b k, "
           "uniquely exactly when Var(kr) > 0, with minimum Var(xr) - Cov(xr, kr)²/Var(kr).",
       .assumptions = "finite fourth moments; k = 1 for dropout before the bias, k = M after it",
       .derivation = "g = xr + b kr is linear in b, so its variance is the residual variance of a "
                     "regression. Independence turns b* into -pμ; where r depends on x it is not.",
       .check = decide_dependent_minimum},
      {.id = "P-L2e",
       .source = kSource,
       .statement = "The published formula is the variance of the gradients of a real run.",
       .assumptions = "those of Lemma 2, whose cost is measured",
       .derivation =
           "Stored per layer and step: measured variance, both formulas, and the two terms "
           "of P-L2c' that the assumptions drop.",
       .needs_run = true,
       .studies = {"constant-regression", "pgb-gemma3"},
       .check = formula_of_run,
       .measure = formulas_of_study},
  };
}

}  // namespace

std::vector<Claim> lemma2_claims() {
  auto claims = formula_claims();
  for (auto& claim : assumption_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
