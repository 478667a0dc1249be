// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "theory/exact/rational.h"

namespace kappascope::theory {

/// A mean and a covariance whose eigenvalues are known exactly, so that a statement about spectra
/// can be compared with the truth also where it changes sign: Σ = Q diag(λ) Qᵀ and μ = Q m with an
/// orthogonal Q, everything in integers.
struct GramCase {
  Vector<Rational> lambda;  ///< [d] eigenvalues of Σ, descending, >= 0
  Vector<Rational> mean;    ///< [d] μ in the eigenvectors' coordinates, m_i = v_iᵀμ
  Matrix<Rational> sigma;   ///< [d, d]
  Vector<Rational> mu;      ///< [d]

  [[nodiscard]] Index dimension() const { return lambda.size(); }
  [[nodiscard]] Matrix<Rational> second_moment() const;  ///< Σ + μμᵀ
  [[nodiscard]] Index rank() const;                      ///< of Σ: eigenvalues above zero
  [[nodiscard]] bool mean_in_range() const;              ///< μ in range Σ
  [[nodiscard]] bool mean_in_kernel() const;             ///< Σμ = 0
  [[nodiscard]] std::string text() const;                ///< "Σ = [2 0; 0 1], μ = (0, 1)"
};

/// First every small diagonal case in order of size (d = 1, 2, 3), then 3,200 seeded ones up to
/// d = 5 in general position: anisotropic, singular, rank one, repeated eigenvalues at the top, at
/// the bottom and everywhere, crossed with means that are zero, generic, along or orthogonal to
/// the ends of the spectrum, mostly at the bottom, in the range and in the kernel.
std::vector<GramCase> gram_cases(std::uint64_t seed);

}  // namespace kappascope::theory
