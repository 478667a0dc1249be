// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "theory/claim.h"
#include "theory/exact/rational.h"

/// What Lemma 1's correction Δ = b_out b_inᵀ/‖b_in‖² does to the singular values σ1 >= ... >= σ_r
/// of W, r = min(m, d): being of rank one it moves each past at most one neighbour, and by no more
/// than ‖Δ‖ = ‖b_out‖/‖b_in‖ (Weyl). So σ2 <= σ1' <= σ1 + ‖Δ‖ and σ_r - ‖Δ‖ <= σ_r' <= σ_{r-1}, and
/// κ can go either way.
namespace kappascope::theory {

/// W = Q diag(σ) Pᵀ in integers, so that its singular values are known exactly.
struct CorrectionCase {
  Matrix<Rational> weight;   ///< [m, d]
  Vector<Rational> sigma;    ///< [r] descending, > 0
  Vector<Rational> b_in;     ///< [d] not zero
  Vector<Rational> b_out;    ///< [m]
  Rational correction_norm;  ///< ‖b_out‖/‖b_in‖

  [[nodiscard]] Matrix<Rational> corrected() const;  ///< W + Δ
  [[nodiscard]] std::string text() const;
};

/// What a statement says of one case: yes, no, or nothing.
using CorrectionPrediction = std::function<std::optional<bool>(const CorrectionCase&)>;
/// κ(W + Δ) >= κ(W). In floating point; a witness has integer spectra, confirmed exactly.
Verdict check_correction_inflates(const CorrectionPrediction& says, std::uint64_t seed);
/// That it does where ‖Δ‖ >= share · σ1(1 + σ_{r-1}/σ_r), r > 1; nothing elsewhere.
CorrectionPrediction inflates_from(const Rational& share);

/// Between what the largest and the smallest singular value of W + Δ lie.
struct SingularBounds {
  Rational top_from, top_to, bottom_from, bottom_to;
};
using SingularBoundsFormula = std::function<SingularBounds(const CorrectionCase&)>;
/// Decided by the definiteness of (W + Δ)(W + Δ)ᵀ less the squared bounds, exactly.
Verdict check_singular_bounds(const SingularBoundsFormula& formula, std::uint64_t seed);
/// Those above; for r = 1 with σ2 = 0 and no neighbour above σ_r.
SingularBounds interlacing_bounds(const CorrectionCase& one);

}  // namespace kappascope::theory
