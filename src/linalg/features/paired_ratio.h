// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include "kappascope/linalg/features/kappa.h"

namespace kappascope::linalg {

/// The ends of a sample matrix: E (x - centre)(x - centre)ᵀ over the rows x.
struct MatrixEnds {
  const Eigen::VectorXd& centre;
  double lambda_max = 0, lambda_min = 0;
  Eigen::VectorXd top, bottom;  ///< [d] unit eigenvectors; empty where there is none
};

/// κ(above) / κ(below) of two matrices of the same rows. Each λ is to first order a mean over rows,
/// λ = mean of (v·(x - centre))², so log of the quotient changes with a row by
///
///   h(x) = (a₁·(x-c))²/λ₁ - (a_d·(x-c))²/λ_d - (b₁·(x-e))²/κ₁ + (b_d·(x-e))²/κ_d
///
/// (ends a of the one matrix about c, b of the other about e), and its standard error is that of
/// the mean of h, which the kept rows tell, with n_effective in the place of n. What moves both
/// matrices alike, above all the bottom of their spectra, cancels row by row; two separate
/// intervals would count it twice. First order needs ends that the rows tell from their neighbours;
/// where both bottoms are one direction, its error is gone whatever it is.
///
/// No number where an end is missing or not positive; no interval with fewer than 8 kept rows.
PairedRatio paired_ratio(const Moments& moments,
                         const MatrixEnds& above,
                         const MatrixEnds& below,
                         double confidence);

}  // namespace kappascope::linalg
