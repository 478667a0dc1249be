// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "theory/checks/lemma2/finite_laws.h"
#include "theory/claim.h"

/// Lemma 2: the variance of g = y r over one sample, at a bias b. Each check takes the statement
/// as a function and compares it with the sum over all outcomes of a finite law, exactly.
namespace kappascope::theory {

/// The quantities of which Lemma 2 makes its formula.
struct LemmaTerms {
  Rational p, mu, variance, r2, b;
};
LemmaTerms terms_of(const FiniteLaw& law);  ///< with b = 0

using VarianceFormula = std::function<Rational(const LemmaTerms&)>;
Rational published_variance(const LemmaTerms& terms);
/// E[r²] E[y²] with E[y²] = wσ² + (w - q²)μ² + (qμ + b)² for y = MS + b, and w(σ² + (μ + b)²) for
/// y = M(S + b), where q = E M and w = E M²: (p, p) for a mask {0, 1}, (1, 1/p) for {0, 1/p}.
VarianceFormula derived_variance(Dropout dropout);
/// At every law, for b in {0, 1, -1, 1/2, -pμ}.
Verdict check_variance(const VarianceFormula& formula,
                       Dropout dropout,
                       const std::vector<FiniteLaw>& laws);

/// Where the variance is smallest over b, and how small. Nothing: every b is as good.
struct Minimum {
  Rational location, value;
};
using MinimumFormula = std::function<std::optional<Minimum>(const LemmaTerms&)>;  ///< b unused
std::optional<Minimum> published_minimum(const LemmaTerms& terms);
MinimumFormula derived_minimum(Dropout dropout);
/// A statement of the whole joint law, where no independence is assumed.
using LawMinimum = std::function<std::optional<Minimum>(const FiniteLaw&, Dropout)>;
/// With y = x + b k: b* = -Cov(xr, kr)/Var(kr), least value Var(xr) - Cov(xr, kr)²/Var(kr). k = 1
/// before the bias, k = M after it. Nothing when kr does not vary.
std::optional<Minimum> dependent_minimum(const FiniteLaw& law, Dropout dropout);
/// The variance is a quadratic in b: its exact vertex comes from its values at b = -1, 0, 1.
Verdict check_minimum_of_law(const LawMinimum& formula,
                             Dropout dropout,
                             const std::vector<FiniteLaw>& laws);
Verdict check_minimum(const MinimumFormula& formula,
                      Dropout dropout,
                      const std::vector<FiniteLaw>& laws);

/// The joint moments of y and r that no assumption removes.
struct JointMoments {
  Rational y2, r2, covariance, mean;  ///< E y², E r², Cov(y², r²), E[y r]
};
using Decomposition = std::function<Rational(const JointMoments&)>;
Verdict check_decomposition(const Decomposition& formula, const std::vector<FiniteLaw>& laws);

/// Whether, at every law and b, Var(g) = E[y²]E[r²] exactly when the condition says so; both
/// answers must occur.
using MomentCondition = std::function<bool(const JointMoments&)>;
Verdict check_product_condition(const MomentCondition& condition,
                                const std::vector<FiniteLaw>& laws);

}  // namespace kappascope::theory
