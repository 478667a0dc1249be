// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <vector>

#include "kappascope/linalg/features/moments.h"

namespace kappascope::linalg {

/// How far a sample covariance S = Σ^{1/2} W Σ^{1/2} is from its Σ, W being that of the whitened
/// rows. W cannot be seen, so its distribution is modelled: row i is sqrt(t_i) g_i with g_i
/// Gaussian and a weight t_i that says how heavy the row is. The weights are read off the kept
/// rows. This covers Gaussian rows (t = 1), elliptical heavy tails (Student t: t_i = ν/χ²), and, by
/// the same rows being long, coordinates that are heavy-tailed one by one.
struct RowTails {
  /// Weights and their probabilities, mean about 1. Empty: Gaussian.
  Eigen::VectorXd weights, masses;
  /// Kurtosis of a whitened feature, 3 for a Gaussian; never below 3.
  double kurtosis = 3;
  /// At least as much along the two ends of the spectrum, where all rows say so.
  double top_kurtosis = 3, bottom_kurtosis = 3;
  /// By how much rows that were not kept raise the mean square of a weight.
  double unseen = 1;
  /// Features whose variance is less certain than Gaussian rows would leave it: their variance, and
  /// the degrees of freedom of a chi-squared with that error.
  struct HeavyFeature {
    Eigen::Index feature = 0;
    double variance = 0, freedom = 0;
  };
  std::vector<HeavyFeature> heavy;
};

/// Tails from a uniform sample of the rows.
///
/// `whitened` is [k, r]: kept rows times the inverse square root of S on its range; `n` is the
/// number of rows that S was made of. A row's squared length is freed of the row's own share in S
/// (leave one out, exact by Sherman and Morrison) and of the spread that Gaussian rows would show.
/// When rows were left out of the sample (k < n), the longest of them were probably not seen: the
/// upper tenth is replaced by a Pareto tail (Hill 1975) up to the `confidence` quantile of the
/// maximum over all n. Fewer than 8 rows give Gaussian tails.
RowTails row_tails(const RowMatrixF& whitened, double n, double confidence);

/// One end of the spectrum of Σ.
struct EndDirection {
  double value = 0;
  Eigen::VectorXd vector;  ///< [d]; empty where there is none
};

/// What the sums over all rows know and the kept rows may not show: a spike in one row of
/// thousands, dependence that is one feature's own. Raises all kurtoses and `unseen`, and sets
/// `heavy`.
///
/// Along an end v the excess errors of the features add up as for independent ones, by v_j⁴ (as
/// fourth cumulants do). Whole rows that are long show in E‖x-μ‖⁴ beyond what Gaussian rows and the
/// features' own fourth cumulants make of it: for rows sqrt(t) g that is
///   (E t² - 1) [(tr Σ)² + 2 tr Σ² - 3 Σ_j σ_j⁴],
/// which Gaussian rows give with a standard error of at most sqrt(8/n); what is below three of them
/// is taken for none.
void add_sums_of_all_rows(const Moments& moments,
                          double frobenius_squared,
                          const EndDirection& top,
                          const EndDirection& bottom,
                          RowTails& tails);

/// Bounds on W, each one holding with the stated probability.
struct SamplingBounds {
  double top = 1;         ///< λmax(W) is at most this
  double bottom = 0;      ///< λmin(W) is at least this; 0 when n <= d + 1
  double along_low = 0;   ///< vᵀWv is at least this, for the vector v of the top of Σ
  double along_high = 1;  ///< and at most this for that of the bottom
};

/// `n` effective rows, `d` directions for the bottom, `top_rank` <= d for the top: for a Σ whose
/// trace is r λmax, the largest sample eigenvalue is as if there were r equal directions
/// (Gordon's inequality; Koltchinskii and Lounici 2017). Each bound fails with probability
/// `failure`.
///
/// Gaussian part: the Tracy-Widom laws of both edges (Johnstone 2001; Ma 2012 for the centring and
/// for the logarithm at the lower edge), the law itself by Chiani's shifted gamma (2014). Tails:
/// the ratio of the edges of the generalised Marchenko-Pastur law with the weights to those without
/// (Silverstein and Choi 1995). Along one direction: a chi-squared with 2n/(kurtosis-1) degrees of
/// freedom. Cost O(weights).
SamplingBounds sampling_bounds(
    const RowTails& tails, double n, double d, double top_rank, double failure);

/// The same with the rank for the top edge read off the sample's, tr S / λmax(S), up to the bounds
/// themselves: every bound on the top gives a smaller rank and with it a sharper bound. Each step
/// holds on the event of the one before; three take what there is to take.
SamplingBounds sharpened_bounds(
    const RowTails& tails, double n, double d, double sample_rank, double failure);

/// Largest factor between the sample and the population variance of any one of `d` features.
double feature_variance_factor(const RowTails& tails, double n, double d, double failure);

/// What the largest and the smallest entry of the diagonal of Σ + v vᵀ may be among its heavy
/// features; all of them hold but for `failure` at either end. {0, inf} without any.
struct DiagonalRange {
  double largest = 0, smallest = 0;
};
DiagonalRange heavy_diagonal(const RowTails& tails, const Eigen::VectorXd& v, double failure);

/// Quantile of the Tracy-Widom law of real matrices (β = 1), to about 0.01 for 0.01 <= p <= 0.9999.
double tracy_widom_quantile(double probability);

}  // namespace kappascope::linalg
