// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include "kappascope/linalg/features/moments.h"
#include "kappascope/linalg/features/reservoir.h"

namespace kappascope::linalg {

/// What the Ledoit-Wolf estimate needs of a second moment matrix S = (1/n) Σ y yᵀ.
struct SecondMomentFacts {
  Eigen::Index dimension = 0;
  double n_effective = 0;
  double trace = 0;              ///< tr S
  double frobenius_squared = 0;  ///< tr S²
  double fourth = 0;             ///< (1/n) Σ ‖y‖⁴
};

/// The weight ρ in [0, 1] of the linear shrinkage (1-ρ) S + ρ (tr S / d) I that minimises the
/// expected squared Frobenius error (Ledoit and Wolf 2004, eqs. 8 to 14):
///   ρ = min(1, (fourth - tr S²) / n / (tr S² - (tr S)²/d)).
/// 1 when S is a multiple of the identity, or zero. Unlike κ̂, the κ of the shrunk matrix is finite
/// for n < d; it leans towards 1, as κ̂ leans away from it.
double shrinkage_weight(const SecondMomentFacts& facts);

/// κ of the shrunk matrix, from the ends of S's spectrum. NaN when S is zero.
double shrunk_kappa(const SecondMomentFacts& facts, double lambda_min, double lambda_max);

/// (1/n) Σ ‖x - μ + v‖⁴ over all rows, exact but for rounding; `quadratic` is vᵀΣv.
double fourth_moment_about(const FourthMoments& moments,
                           const Eigen::VectorXd& v,
                           double quadratic);

/// Mean of ‖scale ∘ (x - centre)‖⁴ over the kept rows, an estimate of `fourth` for a scaling that
/// is not known before the rows are gone. Zero for no rows.
double sample_fourth_moment(const RowMatrixF& sample,
                            const Eigen::VectorXd& centre,
                            const Eigen::VectorXd& scale);

/// The same for Gaussian rows of second moment S and mean `mean`: (tr S)² + 2 tr S² - 2 ‖mean‖⁴.
double gaussian_fourth_moment(double trace, double frobenius_squared, double mean_squared_norm);

}  // namespace kappascope::linalg
