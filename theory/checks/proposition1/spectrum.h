// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "theory/checks/proposition1/gram_cases.h"
#include "theory/claim.h"

/// What adding μμᵀ does to the spectrum of Σ. Each check takes the statement as a function, so
/// that it can be shown to tell a wrong one from a right one.
namespace kappascope::theory {

/// A lower bound of λmax(Σ+μμᵀ), from Σ's eigenvalues and μ's coordinates (both exact).
using TopBound = std::function<Rational(const GramCase&)>;
/// Decided by the definiteness of bound·I - Σ - μμᵀ, exactly; and in floating point up to d = 48.
Verdict check_top_eigenvalue_bound(const TopBound& bound, std::uint64_t seed);

/// What a statement says of one case: yes, no, or nothing.
using Prediction = std::function<std::optional<bool>(const GramCase&)>;
/// λmax(Σ+μμᵀ) > λmax(Σ), decided by the definiteness of λmax(Σ)·I - Σ - μμᵀ, exactly.
Verdict check_top_strictly_grows(const Prediction& says, std::uint64_t seed);
/// ker(Σ+μμᵀ) = ker Σ, decided by exact elimination.
Verdict check_same_nullspace(const Prediction& says, std::uint64_t seed);

/// What κ means for a singular matrix.
enum class Convention {
  kInfinite,  ///< κ = λmax/λmin, infinite when singular; ∞ >= ∞ counts as true, ∞ > ∞ as false
  kNonzero,  ///< κ = λmax/(smallest nonzero eigenvalue)
};
enum class Relation { kAtLeast, kGreater };
/// κ(Σ+μμᵀ) >= κ(Σ), or >; Σ = 0 has no κ and is left out. Truth from a direct eigendecomposition
/// of both matrices; a witness must have integer spectra, confirmed exactly.
Verdict check_kappa(const Prediction& says,
                    Relation relation,
                    Convention convention,
                    std::uint64_t seed);

/// λmax(Σ) + (vᵀμ)², with the top eigenvector for which it is largest.
Rational published_top_bound(const GramCase& one);
/// Whether λmax(Σ+μμᵀ) > λmax(Σ): μ has a part in the top eigenspace, or
/// Σ_{λ_i < λ1} m_i²/(λ1-λ_i) > 1. Because λ1·I - Σ - μμᵀ >= 0 fails exactly then.
bool top_grows(const GramCase& one);
/// Whether κ(Σ+μμᵀ) >= κ(Σ), from the secular equation ψ(x) = 1 + Σ m_i²/(λ_i-x) alone: with t
/// the largest eigenvalue of Σ+μμᵀ (the root of ψ above λ1, or λ1) and λ_r the smallest nonzero
/// one of Σ, it is true when λ_r is repeated or m_r = 0; else exactly when s = t·λ_r/λ1 reaches
/// λ_{r-1} or has ψ(s) >= 0. For singular Σ and μ in its range this holds on the range
/// (kNonzero), or both are infinite; with μ outside it is always true (kNonzero, by interlacing),
/// or true unless the nullity is one (kInfinite).
bool kappa_at_least(const GramCase& one, Convention convention);
/// The same for d = 2 and Σ > 0 in closed form, exactly: (1 + |μ|²/tr Σ)² >= 1 + μᵀΣ⁻¹μ, because
/// κ grows with (tr)²/det.
bool kappa_at_least_in_plane(const GramCase& one);

}  // namespace kappascope::theory
