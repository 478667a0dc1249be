// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "kappascope/linalg/features/moments.h"
#include "kappascope/linalg/symmetric_eigen.h"

/// @file
/// How well conditioned is the problem that one down-projection solves?
///
/// A gated feed-forward layer computes z = W_d φ, with φ in R^d (d = d_ff) the product of gate and
/// up-projection for one row x, a token or an image, dropout included; W_d, [d_model, d], is the
/// down-projection, and φ is what this file calls the features. Over rows they have mean μ = E φ
/// and covariance Σ = E (φ-μ)(φ-μ)ᵀ. For a loss that is quadratic in z, the Hessian with respect to
/// any one row of W_d is a multiple of the second moment E φφᵀ = Σ + μμᵀ: its condition number
/// κ = λmax/λmin is that of the block W_d. A post-gating bias (PGB) b in R^d, z = W_d (φ + b),
/// makes it Σ + (μ+b)(μ+b)ᵀ, and b = -μ brings it to Σ (PGB, Proposition 1).
///
///   const auto found = kappa(rows, bias);                   // rows: [n, d]
///   found.sigma.value, found.sigma.lower, found.sigma.upper, to_string(found.sigma.resolution)
///
/// What is measured on n rows is an estimate, biased upwards by as much as ((1+√γ)/(1-√γ))²,
/// γ = d/n, where Σ is isotropic (Marchenko and Pastur 1967): so every κ has an interval and a
/// status. tensor/kappa.h has the same call for tensors, by LAPACK.
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
/// | the same, but for all that rounding of rows or of sums in float shows | inf | the same | kNotResolvable |
/// | otherwise                     | κ̂                  | see kappa()                   | by its width    |
// clang-format on
struct KappaEstimate {
  double value = 0;             ///< λmax/λmin of the sample matrix
  double lower = 1, upper = 0;  ///< interval for the kappa of the population, within [1, inf]
  /// Kappa of the Ledoit-Wolf shrinkage of the same matrix; of a scaled one with the fourth moment
  /// of the kept rows, of the others with that of all rows.
  double shrunk = 0;
  /// λmax over the smallest eigenvalue that is not null: what is left when dead or constant
  /// features are left out. Equal to value where there is no null space.
  double on_range = 0;
  double lambda_max = 0, lambda_min = 0;
  /// Residuals of the two by the wide route, or the error of a singular value, beside rounding at
  /// zero; part of the interval. 0 where they come from a decomposition.
  double lambda_max_bound = 0, lambda_min_bound = 0;
  double n_effective = 0;
  /// Eigenvalues at or below null_threshold; with fewer rows than features the wide route gives the
  /// number that the rows leave, which is the least there can be.
  Eigen::Index null_dimension = 0;
  /// At or below which an eigenvalue of Σ is rounding: λmax(Σ) · d · ε, or what rounding of the
  /// rows and of their sums leaves of it (Moments::row_rounding). The rank-one updates keep Σ's:
  /// the secular equation does not add to the error.
  double null_threshold = 0;
  Resolution resolution = Resolution::kDegenerate;
  std::string reason;  ///< why not resolved, in words; empty when resolved
};

/// The quotient of two condition numbers of the same rows, with an interval that takes the rows'
/// errors in pairs: what they have in common cancels. NaN where there is none.
struct PairedRatio {
  double value = std::numeric_limits<double>::quiet_NaN();
  double lower = std::numeric_limits<double>::quiet_NaN();
  double upper = std::numeric_limits<double>::quiet_NaN();
};

/// A number that sums up the spectrum of Σ, of the population: NaN where the rows do not tell it,
/// and then the interval is what is known.
struct SpectralEstimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double lower = 0, upper = 0;
  Resolution resolution = Resolution::kDegenerate;  ///< degenerate: no feature varies, or no rows
};

/// How the ends of the spectra were had.
enum class Route {
  kDecomposition,   ///< one eigendecomposition, rank-one updates by the secular equation
  kFactorisation,   ///< one Cholesky factor, Lanczos: wide layers
  kSingularValues,  ///< of the rows, by QR: KappaOptions::from_rows
};
const char* to_string(Route route);

/// Everything Kappascope says of the features that enter one down-projection.
struct Conditioning {
  KappaEstimate sigma;          ///< κ(Σ): centred features
  KappaEstimate second_moment;  ///< κ(Σ+μμᵀ): the block W_d without a bias
  KappaEstimate with_bias;      ///< κ(Σ+(μ+b)(μ+b)ᵀ): the block W_d at this b
  /// The same after scaling each of these matrices to unit diagonal (Adam preconditions
  /// diagonally). Features whose entry is zero stay out and count as null.
  KappaEstimate sigma_scaled, second_moment_scaled, with_bias_scaled;
  /// κ(Σ+μμᵀ) / κ(Σ) and κ(Σ+(μ+b)(μ+b)ᵀ) / κ(Σ), by first order in the rows (delta method).
  PairedRatio mean_costs, bias_leaves;
  std::int64_t rows = 0;            ///< that entered
  std::int64_t nonfinite_rows = 0;  ///< left out because an entry was NaN or infinite
  Route route = Route::kDecomposition;
  int products = 0;  ///< of the wide route, with Σ or its inverse
  /// exp of the entropy of Σ's spectrum (Roy and Vetterli 2007), corrected for the sample's.
  SpectralEstimate effective_rank;
  /// tr Σ / λmax, of the sample, which makes λmax too large: the interval says by how much.
  SpectralEstimate stable_rank;
  /// (tr Σ)² / (d · tr Σ²), 1 when isotropic; unbiased, so that it may pass 1 by its error.
  SpectralEstimate isotropy;
  /// μᵀΣμ/μᵀμ and tr Σ/d: the variance along the mean beside that along an average direction. The
  /// first is NaN where μ = 0.
  double variance_along_mean = 0, average_variance = 0;
  /// m/(1+m), m = μᵀΣ⁺μ: the share of a constant that the features make without a bias. 1 when μ
  /// reaches into the null space (a constant feature that is not zero makes it all).
  double mean_leverage = 0;
  /// Variance exactly zero in the sums' own arithmetic; 0 for n < 2. Sums over a stream of rows
  /// lose what varies by less than about 1e-154 (double) or 1e-19 (float); kappa() of rows does
  /// not.
  std::int64_t constant_features = 0;
  std::int64_t dead_features = 0;  ///< identically zero: constant, and the mean is zero too
  /// Kurtosis of the whitened features (3: Gaussian), as far as the kept rows show it, or the sums
  /// over all rows that whole rows are long.
  double kurtosis = 3;
  /// The largest share of a variance vᵀΣv that products summed in float may be wrong by; 0 where
  /// they were summed in double, infinite where they hide some v.
  double sum_rounding = 0;
  /// No rows were kept: the intervals hold for Gaussian tails, but for what the sums over all rows
  /// know, and are too narrow for heavier ones.
  bool assumed_gaussian = false;
};

/// Dense solvers for symmetric matrices; empty ones are Eigen's, on one core. A layer that has
/// LAPACK or a device puts its own here. They are given finite matrices only.
struct DenseSolvers {
  std::function<SymmetricEigen(const Eigen::MatrixXd&)> eigenpairs = {};
  /// Ascending.
  std::function<Eigen::VectorXd(const Eigen::MatrixXd&)> eigenvalues = {};
  /// As FactorOptions::cholesky.
  std::function<bool(Eigen::Ref<Eigen::MatrixXd>)> cholesky = {};
};

struct KappaOptions {
  /// Of every interval, in (0, 1); one half of the rest is spent at either end.
  double confidence = 0.95;
  /// For the overload that takes rows: this many follow each other and depend on one another (the
  /// tokens of a sequence). 0: rows are independent.
  Eigen::Index rows_per_group = 0;
  /// For the overload that takes rows: how many are kept to see their tails.
  MomentOptions moments = {};
  /// Width from which on Σ is factorised, not decomposed; negative: from 1,024 on, where that is
  /// faster.
  Eigen::Index factorise_from = -1;
  /// For the overload that takes rows: singular values of the rows, by QR, instead of eigenvalues
  /// of their covariance. A covariance in double holds no κ above about 10¹⁵; the rows hold one of
  /// up to 10³⁰. Takes about 2 n d² + 25 d³ operations and a copy of the rows.
  bool from_rows = false;
  DenseSolvers solvers = {};
};

/// Condition numbers with their errors. `bias` is empty for a layer without one (with_bias then
/// equals second_moment); otherwise its width must be d. Throws for widths that do not fit, a bias
/// that is not finite, and a confidence outside (0, 1). Rows with a NaN or an infinity are left out
/// and counted.
///
/// The interval. Let S = Σ^{1/2} W Σ^{1/2} with W the sample covariance of whitened rows.
///   lower: λmax(S) <= λmax(Σ) λmax(W) and λmin(S) >= λmin(Σ) λmin(W) (Ostrowski), so that
///          κ(Σ) >= κ̂ · bottom/top with bounds on the ends of W's spectrum;
///   upper: with v the top eigenvector of Σ, which does not depend on the data, λmax(S) >= vᵀSv =
///          λmax(Σ) · v'ᵀWv', and the same at the bottom, so that κ(Σ) <= κ̂ · high/low with bounds
///          on one fixed direction of W. It is near 1 already where bottom/top is not: sampling
///          makes kappa look worse, hardly ever better.
/// Rounding of the rows and of their sums (Moments::row_rounding) moves both ends before that, by
/// the largest share of its own variance that it can be along any direction.
/// Heavy tails are read off the kept rows and widen the bounds; n_effective stands for n in them.
/// Sums of fourth order over all rows, clustered by sequence, add what the kept rows may not show:
/// rare spikes of a feature, long rows, dependence that one feature has and the others have not.
/// Diagonal scaling adds the error of d sample variances.
///
/// What no row shows is in no interval. Rows that come singly are taken for independent: whether
/// they follow on one another is not looked at, so give sequences as such; only rows that are
/// copies of each other bit by bit are noticed, and counted once.
///
/// Cost, beside the moments: about 9 d³ operations for the eigendecomposition and 4 d³ for the
/// scaled matrices; from factorise_from on d³/3 and a few hundred products of 2 d². Memory: a few
/// copies of Σ, or Σ alone where it is factorised and the moments were moved in.
Conditioning kappa(Moments moments,
                   const Eigen::VectorXd& bias = {},
                   const KappaOptions& options = {});
/// Of all rows that an accumulator has seen.
Conditioning kappa(const MomentAccumulator& rows,
                   const Eigen::VectorXd& bias = {},
                   const KappaOptions& options = {});
/// Of rows [n, d].
Conditioning kappa(const Eigen::Ref<const RowMatrixD>& rows,
                   const Eigen::VectorXd& bias = {},
                   const KappaOptions& options = {});

}  // namespace kappascope::linalg
