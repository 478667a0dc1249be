// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "theory/claim.h"
#include "theory/exact/enclosure.h"

/// What centring the tokens, X' = X - 1μ̄, does to second moments. E‖X‖_F² = E‖X'‖_F² + n‖μ̄‖²
/// because the rows of E X' add up to zero, and likewise for U = XW_u. The product with a gate has
/// no such identity: E‖U⊙A‖_F² - E‖U‖_F² E‖A‖_∞² is the covariance of ‖U‖_F² and ‖A‖_∞² less the
/// slack E[‖U‖_F²‖A‖_∞² - ‖U⊙A‖_F²] >= 0, and U and A come from one X. ‖A‖_∞ is the largest
/// |entry|.
namespace kappascope::theory {

/// The drop that a statement ascribes to centring, from n and the squared norm of the mean row.
using NormDrop = std::function<Rational(const Rational& tokens, const Rational& squared_mean)>;
/// E‖X‖_F² - E‖X'‖_F² = drop(n, ‖μ̄‖²), exactly.
Verdict check_input_drop(const NormDrop& drop, std::uint64_t seed);
/// E‖U‖_F² - E‖U'‖_F² = drop(n, ‖μ̄W_u‖²), exactly; with W_g in place of W_u it is the same.
Verdict check_projected_drop(const NormDrop& drop, std::uint64_t seed);

/// What U is multiplied with: A = G, which is exact, or A = silu(G).
enum class Activation { kLinear, kSilu };

struct ProductTerms {
  Enclosure u2, a2;      ///< E‖U‖_F², E‖A‖_∞²
  Enclosure product;     ///< E‖U⊙A‖_F²
  Enclosure covariance;  ///< Cov(‖U‖_F², ‖A‖_∞²)
  Enclosure slack;       ///< E[‖U‖_F²‖A‖_∞² - ‖U⊙A‖_F²] >= 0
};
/// Whether E‖U⊙A‖_F² <= E‖U‖_F² E‖A‖_∞²; nothing where the statement is silent.
using ProductPrediction = std::function<std::optional<bool>(const ProductTerms&)>;
/// On laws of X, and on the same laws centred. With silu, laws that the bounds of e cannot decide
/// (equalities) are left out.
Verdict check_product_bound(const ProductPrediction& says,
                            Activation activation,
                            std::uint64_t seed);
/// Covariance <= slack: the condition, as the identity above has it.
std::optional<bool> bound_by_covariance(const ProductTerms& of);

struct SurrogateTerms {
  Rational u2, removed;               ///< E‖U'‖_F², n‖μ̄W_u‖²
  Enclosure gate_before, gate_after;  ///< E‖silu(G)‖_∞², E‖silu(G')‖_∞²
};
/// Whether centring lowers E‖U‖_F² E‖silu(G)‖_∞².
using SurrogatePrediction = std::function<std::optional<bool>(const SurrogateTerms&)>;
Verdict check_surrogate_falls(const SurrogatePrediction& says, std::uint64_t seed);
/// E‖silu(G')‖_∞² E‖U'‖_F² < E‖silu(G)‖_∞² (E‖U'‖_F² + n‖μ̄W_u‖²).
std::optional<bool> surrogate_falls(const SurrogateTerms& of);

}  // namespace kappascope::theory
