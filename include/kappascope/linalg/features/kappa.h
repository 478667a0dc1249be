// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <string>

#include "kappascope/linalg/features/moments.h"
#include "kappascope/linalg/symmetric_eigen.h"

namespace kappascope::linalg {

/// How far a condition number can be believed.
enum class Resolution {
  kResolved,       ///< the interval is narrower than a factor of two on either side
  kBiased,         ///< wider, up to a factor of 100: dominated by sampling, see the interval
  kNotResolvable,  ///< this n or this precision says nothing useful about kappa
  kDegenerate,     ///< no kappa: n = 0, n = 1, a null space (dead or constant features), d = 0
};
const char* to_string(Resolution resolution);

// clang-format off
/// A condition number as what it is, an estimate.
///
/// | case                          | value              | interval                      | resolution      |
/// |-------------------------------|--------------------|-------------------------------|-----------------|
/// | n = 0, n = 1, d = 0, NaN in Σ | NaN                | [1, inf]                      | kDegenerate     |
/// | the matrix is zero            | NaN                | [1, inf]                      | kDegenerate     |
/// | d = 1, not zero               | 1                  | [1, 1]                        | kResolved       |
/// | n_effective <= d + 1          | κ̂, inf if singular | [1, inf]                      | kNotResolvable  |
/// | null space, enough rows       | inf                | [κ on the range, lower; inf]  | kDegenerate     |
/// | otherwise                     | κ̂                  | see conditioning()            | by its width    |
// clang-format on
struct KappaEstimate {
  double value = 0;             ///< λmax/λmin of the sample matrix
  double lower = 1, upper = 0;  ///< interval for the kappa of the population, within [1, inf]
  double shrunk = 0;            ///< kappa of the Ledoit-Wolf shrinkage of the same matrix
  /// λmax over the smallest eigenvalue that is not null: what is left when dead or constant
  /// features are left out. Equal to value where there is no null space.
  double on_range = 0;
  double lambda_max = 0, lambda_min = 0;
  /// Residuals of the two by the wide route, beside rounding; part of the interval. 0 where they
  /// come from a decomposition.
  double lambda_max_bound = 0, lambda_min_bound = 0;
  double n_effective = 0;
  /// Eigenvalues at or below null_threshold; with fewer rows than features the wide route gives the
  /// number that the rows leave, which is the least there can be.
  Eigen::Index null_dimension = 0;
  /// λmax(Σ) · d · ε, below which an eigenvalue of Σ is rounding. The rank-one updates keep Σ's:
  /// the secular equation does not add to the error.
  double null_threshold = 0;
  Resolution resolution = Resolution::kDegenerate;
  std::string reason;  ///< why not resolved, in words; empty when resolved
};

/// How the ends of the spectra were had.
enum class Route {
  kDecomposition,  ///< conditioning(): one eigendecomposition, secular equation
  kFactorisation,  ///< wide_conditioning(): one Cholesky factor, Lanczos
};
const char* to_string(Route route);

/// Everything Kappascope says of the features that enter one down-projection.
/// κ(Σ) is that of centred features; κ(Σ+μμᵀ) that of the W_d block without a bias (PGB,
/// Proposition 1); κ(Σ+(μ+b)(μ+b)ᵀ) that of the W_d block at the bias b of this moment.
struct Conditioning {
  KappaEstimate sigma, second_moment, with_bias;
  /// The same after scaling each of these matrices to unit diagonal (Adam preconditions
  /// diagonally). Features whose entry is zero stay out and count as null.
  KappaEstimate sigma_scaled, second_moment_scaled, with_bias_scaled;
  Route route = Route::kDecomposition;
  int products = 0;           ///< of the wide route, with Σ or its inverse
  double effective_rank = 0;  ///< exp of the entropy of Σ's spectrum (Roy and Vetterli 2007)
  /// Half of its 95 % interval where the entropy is a stochastic quadrature; 0 where it is exact.
  double effective_rank_error = 0;
  double stable_rank = 0;  ///< tr Σ / λmax
  double isotropy = 0;  ///< (tr Σ)² / (d · tr Σ²), 1 when isotropic; 0 with Σ = 0, as the ranks
  /// μᵀΣμ/μᵀμ and tr Σ/d: the variance along the mean beside that along an average direction. The
  /// first is NaN where μ = 0.
  double variance_along_mean = 0, average_variance = 0;
  /// m/(1+m), m = μᵀΣ⁺μ: the share of a constant that the features make without a bias. 1 when μ
  /// reaches into the null space (a constant feature that is not zero makes it all).
  double mean_leverage = 0;
  std::int64_t constant_features = 0;  ///< variance exactly zero; 0 for n < 2
  std::int64_t dead_features = 0;      ///< identically zero: constant, and the mean is zero too
  /// Kurtosis of the whitened features (3: Gaussian), as far as the kept rows show it.
  double kurtosis = 3;
  /// No rows were kept: the intervals hold for Gaussian tails and are too narrow for heavier ones.
  bool assumed_gaussian = false;
};

struct KappaOptions {
  /// Of every interval, in (0, 1); one half of the rest is spent at either end.
  double confidence = 0.95;
  /// Eigenvalues, ascending, of a dense symmetric matrix; empty: Eigen's solver (4/3 d³ operations,
  /// memory bound). A layer that has LAPACK or a device puts its own here.
  std::function<Eigen::VectorXd(const Eigen::MatrixXd&)> eigenvalues = {};
};

/// Condition numbers with their errors. `bias` is empty for a layer without one (with_bias then
/// equals second_moment); otherwise its width must be d.
///
/// The interval. Let S = Σ^{1/2} W Σ^{1/2} with W the sample covariance of whitened rows.
///   lower: λmax(S) <= λmax(Σ) λmax(W) and λmin(S) >= λmin(Σ) λmin(W) (Ostrowski), so that
///          κ(Σ) >= κ̂ · bottom/top with bounds on the ends of W's spectrum;
///   upper: with v the top eigenvector of Σ, which does not depend on the data, λmax(S) >= vᵀSv =
///          λmax(Σ) · v'ᵀWv', and the same at the bottom, so that κ(Σ) <= κ̂ · high/low with bounds
///          on one fixed direction of W. It is near 1 already where bottom/top is not: sampling
///          makes kappa look worse, hardly ever better.
/// sampling.h says how the bounds on W are had, heavy tails included; n_effective stands for n in
/// them. Diagonal scaling adds the error of d sample variances.
///
/// Cost: one eigendecomposition of Σ (`eigen` may be given when the caller has it), O(d) a step for
/// each rank-one update by the secular equation, eigenvalues of the two or three scaled matrices,
/// and kept rows · d² for the tails.
Conditioning conditioning(const Moments& moments,
                          const Eigen::VectorXd& bias,
                          const KappaOptions& options = {},
                          const SymmetricEigen* eigen = nullptr);

/// What one interval is made from: a sample matrix and the rows that it came from.
struct KappaFacts {
  Eigen::Index dimension = 0;
  std::int64_t n = 0;
  double n_effective = 0;
  double lambda_min = 0, lambda_max = 0;
  double smallest_positive = 0;  ///< smallest eigenvalue that is not null
  Eigen::Index null_dimension = 0;
  double null_threshold = 0;
  double trace = 0, frobenius_squared = 0, fourth = 0;  ///< as in SecondMomentFacts
  bool diagonal_scaled = false;
  double lambda_max_bound = 0, lambda_min_bound = 0;  ///< residuals, 0 from a decomposition
  bool converged = true;                              ///< both ends
};
struct RowTails;

/// The estimate with interval, shrinkage, status and reason; conditioning() is six of these.
KappaEstimate kappa_estimate(const KappaFacts& facts, const RowTails& tails, double confidence);

}  // namespace kappascope::linalg
