// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>

#include "kappascope/linalg/moments.h"

namespace kappascope::linalg {

/// How far a condition number can be believed.
enum class Resolution {
  kResolved,  ///< the interval is narrower than a factor of two on either side
  kBiased,    ///< n is too small for that: the value is dominated by sampling, see the interval
  kNotResolvable,  ///< this n or this precision says nothing useful about kappa
  kDegenerate,     ///< no kappa: n = 0, n = 1, a null space (dead or constant features), d = 0
};
const char* to_string(Resolution resolution);

/// A condition number as what it is, an estimate.
struct KappaEstimate {
  double value =
      0;  ///< λmax/λmin of the sample matrix; NaN when degenerate by n; +inf with a null space
  double lower = 1,
         upper = 0;   ///< 95 % interval for the kappa of the population; upper may be +inf
  double shrunk = 0;  ///< kappa of the Ledoit-Wolf shrinkage of the same matrix
  double lambda_max = 0, lambda_min = 0;
  double n_effective = 0;
  Eigen::Index null_dimension = 0;  ///< eigenvalues at or below null_threshold
  double null_threshold = 0;        ///< λmax · d · ε: below it an eigenvalue is rounding
  Resolution resolution = Resolution::kDegenerate;
  std::string reason;  ///< why not resolved, in words; empty when resolved
};

/// Eigenvalues ascending and orthonormal eigenvectors (columns) of a symmetric matrix.
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};
SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& matrix);

/// Everything Kappascope says of the features that enter one down-projection.
/// κ(Σ) is that of centred features; κ(Σ+μμᵀ) that of the W_d block without a bias (PGB,
/// Proposition 1); κ(Σ+(μ+b)(μ+b)ᵀ) that of the W_d block at the bias b of this moment.
struct Conditioning {
  KappaEstimate sigma, second_moment, with_bias;
  /// The same after scaling every feature to unit second moment (Adam preconditions diagonally).
  KappaEstimate sigma_scaled, second_moment_scaled, with_bias_scaled;
  double effective_rank = 0;  ///< exp of the entropy of Σ's spectrum (Roy and Vetterli 2007)
  double stable_rank = 0;     ///< tr Σ / λmax
  double isotropy = 0;        ///< (tr Σ)² / (d · tr Σ²), 1 when isotropic
  double mean_leverage =
      0;  ///< m/(1+m), m = μᵀΣ⁺μ: the share of a constant the features make without bias
  std::int64_t constant_features = 0;  ///< variance exactly zero
  std::int64_t dead_features = 0;      ///< identically zero: constant, and the mean is zero too
};

struct KappaOptions {
  double confidence = 0.95;
  std::uint64_t seed = 0;  ///< of the simulated null, where one is used
};

/// `bias` is empty for a layer without one (with_bias then equals second_moment).
/// Cost: one eigendecomposition of Σ and one of its scaled form; the rank-one updates go through
/// the secular equation. `eigen` may be given when the caller already has Σ's.
Conditioning conditioning(const Moments& moments,
                          const Eigen::VectorXd& bias,
                          const KappaOptions& options = {},
                          const SymmetricEigen* eigen = nullptr);

}  // namespace kappascope::linalg
