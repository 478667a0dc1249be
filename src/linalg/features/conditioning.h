// SPDX-License-Identifier: Apache-2.0
// The two routes from moments to condition numbers, and what they share.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "kappascope/linalg/features/kappa.h"
#include "linalg/features/factored.h"
#include "linalg/features/rounding.h"
#include "linalg/features/sampling_bounds.h"
#include "linalg/features/updated_spectrum.h"

namespace kappascope::linalg {

/// From this width on one factor and Lanczos are faster than a decomposition and the eigenvalues of
/// three scaled matrices (benchmarks/README.md).
constexpr Eigen::Index kFactoriseFrom = 1024;

/// Cost: one eigendecomposition of Σ, O(d) a step for each rank-one update by the secular equation,
/// eigenvalues of the two or three scaled matrices, and kept rows · d² for the tails. With a root,
/// singular values take the place of each.
Conditioning conditioning_by_decomposition(const Moments& moments,
                                           const Eigen::VectorXd& bias,
                                           const KappaOptions& options = {},
                                           const RowRoot& root = {});

struct FactorisationOptions {
  double confidence = 0.95;  ///< of every interval
  FactorOptions factor = {};
  /// The entropy behind the effective rank: random vectors, and Lanczos steps from each.
  int rank_probes = 4, rank_steps = 16;
};

/// The same estimates and intervals from one Cholesky factor and Lanczos at both ends (factored.h).
/// What differs:
///  - the ends carry residual bounds, which the intervals take in; an end that did not converge
///    makes its estimate not resolvable, with the reason;
///  - the effective rank is a stochastic quadrature with an error;
///  - with no more rows than features that vary, Σ is singular by count, nothing is factored, and
///    on_range and mean_leverage are NaN; so is on_range where more than factor.max_null null
///    directions were found;
///  - the kurtosis is that of the features whitened by Cholesky, and of the end directions.
/// Takes the moments over. Memory: the covariance's own d² doubles, and kept rows · d. Cost: d³/3
/// operations, a few hundred products of 2 d², and kept rows · d² for the tails.
Conditioning conditioning_by_factorisation(Moments moments,
                                           const Eigen::VectorXd& bias,
                                           const FactorisationOptions& options = {});

/// What one interval is made from: a sample matrix and the rows that it came from.
struct KappaFacts {
  Eigen::Index dimension = 0;
  std::int64_t n = 0;
  double n_effective = 0;
  double lambda_min = 0, lambda_max = 0;
  double smallest_positive = 0;  ///< smallest eigenvalue that is not null
  Eigen::Index null_dimension = 0;
  Eigen::Index constant_directions = 0;  ///< null ones that features of variance zero make
  double null_threshold = 0;
  double solver_rounding = 0;  ///< of an eigenvalue
  /// As shares of a variance in the range; along the direction of smallest_positive; along any.
  Rounding share, at_bottom, at_top;
  double trace = 0, frobenius_squared = 0, fourth = 0;  ///< as in SecondMomentFacts
  bool diagonal_scaled = false;
  /// [d] v of Σ + v vᵀ, where that is the matrix itself (not diagonal_scaled).
  Eigen::VectorXd update;
  double lambda_max_bound = 0, lambda_min_bound = 0;  ///< residuals, 0 from a decomposition
  bool converged = true;                              ///< both ends
};

/// Of an estimate whose interval reaches so far on its wider side.
Resolution resolution_of(double factor);

/// The estimate with interval, shrinkage, status and reason; a Conditioning is six of these.
KappaEstimate kappa_estimate(const KappaFacts& facts, const RowTails& tails, double confidence);

/// Throws when mean, covariance, kept rows and bias differ in width, the bias is not finite, or the
/// confidence is none.
void check_question(const Moments& moments, const Eigen::VectorXd& bias, double confidence);

/// The answer where there is nothing to decompose.
Conditioning without_spectrum(const Moments& moments, double confidence);

void count_constants(std::int64_t n,
                     const Eigen::VectorXd& mean,
                     const Eigen::VectorXd& variances,
                     Conditioning& result);

}  // namespace kappascope::linalg
