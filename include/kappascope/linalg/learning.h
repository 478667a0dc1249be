// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <string>

#include "kappascope/linalg/features/kappa.h"

/// @file
/// How long does gradient descent take to learn what a layer can represent?
///
/// A down-projection sees features φ in R^d with second moment M: Σ where the mean is absorbed,
/// Σ+μμᵀ without a bias, Σ+(μ+b)(μ+b)ᵀ with a post-gating bias b. On a squared loss, full batch,
/// gradient descent with weights that start at zero and the rate 1/λmax leaves after T steps
/// (1 - λ/λmax)^T of the weights' error along an eigenvector of M with eigenvalue λ, and λ times
/// the square of that of the loss. For a target with no preferred direction, W* of independent
/// entries, there remains of what the features' variation can explain the share
///
///   R(T) = tr[Σ (1 - M/λmax)^{2T}] / tr Σ,   for M = Σ:  Σ λ_i (1 - λ_i/λmax)^{2T} / Σ λ_i,
///
/// and `steps to 90 %` is the T with R(T) = 0.1. The mean's own part, a constant, is left out: it
/// is learned first, and were it counted, a mean that is large enough would make every layer look
/// fast. What it does is to make one eigenvalue of M large, which limits the rate for all else. κ
/// says how it stands with the single slowest direction, R with the part that matters; it weights
/// directions by their variance, so that the small ones, which a sample does not show, hardly
/// count.
///
///   const auto found = learning(rows, bias);   // rows: [n, d]
///   found.second_moment.ninety.value, .lower, .upper
///
/// It misleads where the loss is far from quadratic, where the target lies along few eigenvectors,
/// where batches are so small that noise and not curvature limits the rate (then all matrices look
/// alike), and where the optimiser is neither plain nor diagonally preconditioned (`scaled`).
///
/// Sources: learning along eigenvectors at the rates of eigenvalues, Saxe, McClelland and Ganguli
/// (2014), Rahaman et al. (2019); average-case analysis of gradient descent over a spectrum,
/// Pedregosa and Scieur (2020), Paquette et al. (2023).
namespace kappascope::linalg {

/// A number of steps of gradient descent, at least one.
struct StepsEstimate {
  /// NaN where the rows do not tell (`upper` is then infinite), or nothing varies.
  double value = std::numeric_limits<double>::quiet_NaN();
  double lower = 1, upper = std::numeric_limits<double>::infinity();
  Resolution resolution = Resolution::kDegenerate;  ///< by the interval, as of a KappaEstimate
  std::string reason;                               ///< why not resolved; empty when resolved
};

/// Steps until half, 90 % and 99 % of what the features can represent is learned.
struct LearningTime {
  StepsEstimate half, ninety, ninety_nine;
};

/// Of the three matrices, by the same rows.
struct LearningTimes {
  LearningTime sigma;          ///< of Σ: the mean absorbed
  LearningTime second_moment;  ///< of Σ+μμᵀ: the block W_d without a bias
  LearningTime with_bias;      ///< of Σ+(μ+b)(μ+b)ᵀ: the block W_d at this b
  /// Steps to 90 % of Σ+μμᵀ over those of Σ: what the mean costs; and of Σ+(μ+b)(μ+b)ᵀ over those
  /// of Σ: what the bias leaves of it. The interval takes errors in pairs.
  PairedRatio mean_costs, bias_leaves;
  /// Steps to 90 % of Σ+(μ+b)(μ+b)ᵀ over those of Σ+μμᵀ: what the bias changes. 1 without one.
  PairedRatio bias_changes;
};

struct Learning : LearningTimes {
  std::int64_t rows = 0;    ///< that entered
  std::int64_t groups = 0;  ///< sequences they came in; rows where they are independent
  std::int64_t nonfinite_rows = 0;
};

struct LearningOptions {
  double confidence = 0.95;  ///< of the intervals, in (0, 1)
  /// So many rows follow each other and depend on one another (the tokens of a sequence). 0: rows
  /// are independent.
  Eigen::Index rows_per_group = 0;
  /// Scale every matrix to unit diagonal first, as Adam does to a quadratic loss.
  bool scaled = false;
};

/// Host reference, in double, by eigendecompositions; tensor/learning.h is the fast twin.
///
/// The estimate. A sample's spectrum is wider than the population's by as much as d/n says, in a
/// way that depends on how the rows depend on one another. So rows are split in halves A and B,
/// each of alternate blocks that follow each other, and what is learned of A is tried on B: with
/// M_A, M_B the second moments and Q = (M_A + λ)⁻¹, to first order E Q = (δΣ + λ)⁻¹, with some δ
/// that n, d, heavy tails and dependence determine; D = tr[M_A Q] = tr[Σ (Σ + λ/δ)⁻¹], and t =
/// tr[M_B Q] = D/δ, for B is independent of Q (Ledoit and Péché 2011; as leave-one-out and
/// generalised cross-validation relate, Golub, Heath and Wahba 1979). So with κ = λ t/D, at every λ
/// the rows show
///   tr[Σ κ (Σ + κ)⁻¹] = λ t,
/// the population's own, without a model of the rows. The spectrum that shows these (a positive
/// measure, by non-negative least squares) gives R. Rank-one updates are made to it: the measure of
/// c = μ or μ+b in Σ's eigenvectors comes from (m_B + b)ᵀ Q (m_A + b) in the same way. λmax lies
/// between the variance of B along A's top eigenvector, and A's along it; it is their geometric
/// mean, and the interval holds both. The interval's other part is the jackknife over eight blocks
/// of sequences, by Student's t, and holds what the smallest κ that the rows resolve leaves open.
///
/// What no row shows is in no interval: a feature's rare spikes that half of the rows miss.
///
/// Throws for a bias of another width or not finite, a confidence outside (0, 1), and groups that
/// do not divide the rows. Rows that are not finite are left out and counted. Fewer than four
/// groups: not resolvable. Cost: ten eigendecompositions, and three times as many when scaled.
Learning learning(const Eigen::Ref<const RowMatrixD>& rows,
                  const Eigen::VectorXd& bias = {},
                  const LearningOptions& options = {});

}  // namespace kappascope::linalg
