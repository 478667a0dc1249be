// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include "kappascope/linalg/features/factored.h"
#include "kappascope/linalg/features/kappa.h"

namespace kappascope::linalg {

struct WideOptions {
  double confidence = 0.95;  ///< of every interval
  FactorOptions factor = {};
  /// The entropy behind the effective rank: random vectors, and Lanczos steps from each.
  int rank_probes = 4, rank_steps = 16;
};

/// conditioning() for a layer too wide to decompose: the same estimates and intervals from one
/// Cholesky factor and Lanczos at both ends (factored.h). What differs:
///  - the ends carry residual bounds, which the intervals take in; an end that did not converge
///    makes its estimate not resolvable, with the reason;
///  - the effective rank is a stochastic quadrature with an error;
///  - with no more rows than features that vary, Σ is singular by count, nothing is factored, and
///    on_range and mean_leverage are NaN; so is on_range where more than factor.max_null null
///    directions were found;
///  - the kurtosis is that of the features whitened by Cholesky, and of the end directions.
/// Takes the moments over. Memory: the covariance's own d² doubles, and kept rows · d. Cost: d³/3
/// operations, a few hundred products of 2 d², and kept rows · d² for the tails.
Conditioning wide_conditioning(Moments moments,
                               const Eigen::VectorXd& bias,
                               const WideOptions& options = {});

}  // namespace kappascope::linalg
