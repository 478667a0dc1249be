// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "theory/checks/lemma2/finite_laws.h"
#include "theory/checks/lemma2/variance.h"
#include "theory/claim.h"

/// What masking and a bias do to one feature S, its regressor y and its gradient g = y r. With
/// q = E M and w = E M², (p, p) for a mask {0, 1} and (1, 1/p) for {0, 1/p}, and M independent of
/// S, E[MS] = qμ and Var(MS) = wσ² + (w - q²)μ². With r independent too and E r = 0, Var(g) =
/// E[r²]E[y²]: a bias changes only (qμ + b)², or w(μ + b)² where dropout follows it. Every check
/// compares a statement with sums over all outcomes of finite laws, exactly.
namespace kappascope::theory {

/// E[MS] from p and μ.
using MaskedMean = std::function<Rational(const LemmaTerms&)>;
Verdict check_masked_mean(const MaskedMean& formula,
                          Scaling scaling,
                          const std::vector<FiniteLaw>& laws);
/// qμ.
MaskedMean derived_masked_mean(Scaling scaling);

/// What a statement says of one case: yes, no, or nothing. r² and b count only where they enter.
using MaskedPrediction = std::function<std::optional<bool>(const LemmaTerms&, Dropout)>;
/// Var(MS) > Var(S).
Verdict check_inflation(const MaskedPrediction& says,
                        Scaling scaling,
                        const std::vector<FiniteLaw>& laws);
/// p < 1, and pμ² > σ² for a mask {0, 1}, E S² > 0 for {0, 1/p}.
std::optional<bool> mask_inflates(const LemmaTerms& terms, Dropout dropout);

/// The quantity whose variance a bias is said to lower.
enum class Quantity { kGradient, kRegressor };
/// Var at b < Var at no bias, for b on a grid, at the centre and around its mirror image.
Verdict check_reduction(const MaskedPrediction& says,
                        Quantity quantity,
                        Dropout dropout,
                        const std::vector<FiniteLaw>& laws);
/// For the gradient: E r² > 0 and |c + b| < |c|, with c = qμ before the mask and μ after it.
std::optional<bool> bias_reduces_gradient(const LemmaTerms& terms, Dropout dropout);
/// For the regressor: never when y = MS + b; when y = M(S + b), p < 1 and |μ + b| < |μ|.
std::optional<bool> bias_reduces_regressor(const LemmaTerms& terms, Dropout dropout);

/// Var(y) at b, from the terms, for b on the same grid.
Verdict check_regressor_variance(const VarianceFormula& formula,
                                 Dropout dropout,
                                 const std::vector<FiniteLaw>& laws);
/// wσ² + (w - q²)μ² for y = MS + b, whatever b is; wσ² + (w - q²)(μ + b)² for y = M(S + b).
VarianceFormula derived_regressor_variance(Dropout dropout);

/// A reduction of the sum over several features that share p and r: the statement sees the terms of
/// each. Features are laws of the list that follow one another.
using TotalPrediction = std::function<std::optional<bool>(const std::vector<LemmaTerms>&, Dropout)>;
Verdict check_total_reduction(const TotalPrediction& says,
                              Dropout dropout,
                              const std::vector<FiniteLaw>& laws);
/// E r² > 0 and ‖c + b‖ < ‖c‖.
std::optional<bool> bias_reduces_total(const std::vector<LemmaTerms>& features, Dropout dropout);

/// Two parts of Var(g) without a bias: what the best b takes away, and what is left because of
/// dropout alone, Var(g) at that b less the same with the mask replaced by its mean.
struct Shares {
  Rational removed, left_by_dropout;
};
using SharesFormula = std::function<Shares(const LemmaTerms&, Dropout)>;
Verdict check_shares(const SharesFormula& formula,
                     Dropout dropout,
                     const std::vector<FiniteLaw>& laws);
/// E[r²]q²μ² and E[r²](w - q²)(σ² + μ²) for y = MS + b.
Shares derived_shares(const LemmaTerms& terms, Dropout dropout);

}  // namespace kappascope::theory
