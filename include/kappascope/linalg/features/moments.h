// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "kappascope/linalg/features/reservoir.h"

namespace kappascope::linalg {

/// Rows as they come from a network: row-major [tokens, d].
using RowMatrixD = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct MomentSums;

/// Sums of third and fourth order beside those of MomentSums, about the same shift: how far off a
/// variance is, and what a shrinkage weight is made from, in O(d). y = x - s; a group has m_g rows
/// and the sums T_g of y and Q_g of y², entry by entry. Empty vectors: nobody summed these.
struct HigherSums {
  Eigen::VectorXd cubed;                  ///< [d] Σ y³
  Eigen::VectorXd fourth;                 ///< [d] Σ y⁴
  Eigen::VectorXd length_squared_sum;     ///< [d] Σ ‖y‖² y
  double length_fourth = 0;               ///< Σ ‖y‖⁴
  Eigen::VectorXd group_rows_squares;     ///< [d] Σ m_g Q_g
  Eigen::VectorXd group_sum_squares;      ///< [d] Σ T_g Q_g
  Eigen::VectorXd group_squares_squared;  ///< [d] Σ Q_g²

  HigherSums() = default;
  /// All zero.
  explicit HigherSums(Eigen::Index dimension);

  [[nodiscard]] bool known() const { return fourth.size() > 0; }
  [[nodiscard]] bool has_width(Eigen::Index dimension) const;
  [[nodiscard]] bool is_finite() const;
  /// Adds sums about the same shift; unknown where one of both is.
  void merge(const HigherSums& other);
};

/// Those of single rows y [n, d], but for the groups.
HigherSums higher_sums(const Eigen::Ref<const RowMatrixD>& rows);

/// The higher sums of the same rows about s - step: y + step stands for y. Exact but for rounding;
/// a product with the sums' d² products.
HigherSums higher_sums_about(const MomentSums& sums, const Eigen::VectorXd& step);

/// Central moments of fourth order, and how far off the variances are.
struct FourthMoments {
  Eigen::VectorXd features;      ///< [d] (1/n) Σ (x-μ)⁴, entry by entry
  double length = 0;             ///< (1/n) Σ ‖x-μ‖⁴
  Eigen::VectorXd length_third;  ///< [d] (1/n) Σ ‖x-μ‖² (x-μ)
  Eigen::VectorXd variances;     ///< [d]
  /// [d] What the squared error of each variance has beyond the 2 σ⁴ / n_effective of Gaussian
  /// rows: rare spikes, heavy tails, dependence that one feature has and the others have not. From
  /// sums over groups, so that it holds for dependent rows. Zero where chance would show as much.
  Eigen::VectorXd variance_excess;

  [[nodiscard]] bool known() const { return features.size() > 0; }
};

/// How exactly rows say what the features were before they were rounded, and how their products
/// were added. The coarsest of what was merged.
struct RowPrecision {
  double unit = 0x1p-53;  ///< relative error of an entry: 2⁻⁵³, float 2⁻²⁴, bfloat16 2⁻⁸
  double least = 0;       ///< error of an entry where the type's numbers are subnormal
  std::int64_t float_block = 0;  ///< products are added in float over so many rows; 0: in double

  void merge(const RowPrecision& other);
};

/// Mean and covariance of feature rows, all with divisor n, so that `covariance + mean meanᵀ` is
/// exactly the sample second moment.
struct Moments {
  std::int64_t n = 0;               ///< rows that entered
  std::int64_t nonfinite_rows = 0;  ///< rows left out because an entry was NaN or infinite
  double n_effective = 0;           ///< n over the design effect of moments_from(); <= n
  Eigen::VectorXd mean;             ///< [d]; zero when n = 0
  Eigen::MatrixXd covariance;       ///< [d, d], divisor n, symmetric; zero when n <= 1
  /// A uniform sample of the rows, [k, d]: what the tails look like (the error of kappa needs it).
  RowMatrixF sample;
  FourthMoments fourth;
  /// What rounding may have done to the covariance C, [d] each; empty: nothing. With R and P the
  /// diagonal matrices of the two, C₀ the covariance of the rows before they were rounded and C₁
  /// that of the rounded ones, for every direction v
  ///   |sqrt(vᵀC₁v) - sqrt(vᵀC₀v)| <= sqrt(vᵀRv)  and  |vᵀCv - vᵀC₁v| <= vᵀPv.
  Eigen::VectorXd row_rounding, sum_rounding;
};

/// The sufficient statistics behind Moments, about a shift s that lies near the data:
/// s = 0 gives E[x²] - E[x]², which loses every digit of a small variance beside a large mean
/// (Chan, Golub and LeVeque 1983). They add up: blocks, halves of a stream, ranks of a process
/// group. Whoever sums on a device fills one of these for a block and merges it.
///
/// Rows come in groups whose members depend on one another (the tokens of one sequence). T_g is a
/// group's sum of (x-s) and m_g its number of rows; three sums over groups suffice for the design
/// effect. Independent rows are groups of one: then rows_are_groups() fills them in.
struct MomentSums {
  std::int64_t n = 0;                 ///< rows that entered
  std::int64_t nonfinite_rows = 0;    ///< rows left out; they are in no other sum
  Eigen::VectorXd shift;              ///< [d] s; any finite vector when n = 0
  Eigen::VectorXd sum;                ///< [d] Σ(x-s)
  Eigen::MatrixXd cross;              ///< [d, d] Σ(x-s)(x-s)ᵀ; only the lower triangle is read
  std::int64_t groups = 0;            ///< groups with at least one row
  double group_rows_squared = 0;      ///< Σ m_g²
  Eigen::VectorXd group_rows_sum;     ///< [d] Σ m_g T_g
  Eigen::VectorXd group_sum_squared;  ///< [d] Σ T_g², entry by entry
  HigherSums higher;                  ///< of third and fourth order
  RowPrecision precision;

  MomentSums() = default;
  /// All zero.
  explicit MomentSums(Eigen::Index dimension);

  /// Declares every row a group of its own, from n, sum, cross and the higher sums.
  void rows_are_groups();
  /// Expresses the same rows about another shift. Exact but for rounding; O(d²).
  void move_to(const Eigen::VectorXd& new_shift);
  /// Adds `other`, whose shift may differ; the shift of *this stays (unless *this was empty).
  void merge(const MomentSums& other);
};

/// A shift for sums over these rows: their mean, computed so that a constant column gives exactly
/// its constant (its variance then comes out exactly zero). Zero rows give the zero vector.
Eigen::VectorXd shift_for(const Eigen::Ref<const RowMatrixD>& rows);

/// The one place where sums become moments.
///
/// n_effective = n / D, D >= 1 the larger of two design effects (Kish 1965), each an average over
/// features of a variance over groups and the one that independent rows would have:
///   of the mean        [Σ_g R_g² / (1 - 1/G)] / [n σ² / (1 - 1/n)],      R_g = T_g - m_g (x̄-s)
///   of the variance    [Σ_g P_g² / (1 - 1/G)] / [Σ_i p_i² / (1 - 1/n)],  p_i = (x_i-x̄)² - σ²
/// with P_g the sum of p_i over a group. For rows with autocorrelations ρ_k the first is
/// 1 + 2 Σ ρ_k and the second, for Gaussian rows, 1 + 2 Σ ρ_k²: alternating signs hide from the
/// first, as do sequences that share a scale and no mean. Few groups leave D itself uncertain: it
/// grows by the square of Student's quantile over the normal one, at (G - 1) d² / Σ_jk c_jk²
/// degrees of freedom with c the correlations. A single group of several rows tells nothing of
/// dependence: n_effective is then 1.
///
/// Rows that came singly are taken for independent, which nothing in their sums can tell. But kept
/// rows that are copies of each other, bit by bit, count once (different_rows()).
///
/// Rounding. An entry x is wrong by at most unit |x|, and errors of different entries have next to
/// nothing in common: their covariance is at most R = unit² diag E x², with a factor of three to a
/// uniform error, which pays for the fluctuation of its sample. A feature whose variance is zero
/// has R = 0: it counts as constant. In a sum of m products of float, whose partial sums grow
/// evenly, the additions leave 2⁻²⁴ sqrt(m)/3 of the sum as a standard deviation, n/m such blocks
/// less by sqrt(n/m), and a symmetric d x d matrix of independent errors has a norm of 2 sqrt(d)
/// of them: P = 2 (sqrt(d) + 1) 2⁻²⁴ m/(3 sqrt(n)) diag E (x-s)².
Moments moments_from(const MomentSums& sums, RowMatrixF sample = {});

struct MomentOptions {
  /// Rows kept as a uniform sample. 0 keeps none; kappa then assumes Gaussian tails and says so.
  Eigen::Index sample_rows = 512;
  /// Seed of the reservoir, so that a run repeats to the last bit.
  std::uint64_t seed = 0;
  /// Of rows that were rounded before they came here, as float, to a narrower type.
  RowPrecision precision = {};
};

/// Streaming mean and covariance of rows in R^d, in double. The halves of a stream merge to the
/// whole up to rounding. This is the host reference; tensor/moments is the fast twin and is tested
/// against it. Memory: d² + sample_rows · d. An update costs tokens · d² multiply-adds.
class MomentAccumulator {
 public:
  /// Everything there is to know; an accumulator made from it continues to the last bit.
  struct State {
    MomentSums sums;
    Reservoir::State sample;
  };

  explicit MomentAccumulator(Eigen::Index dimension, MomentOptions options = {});
  explicit MomentAccumulator(State state);

  /// Adds rows [tokens, d]. `mask[i]` = 0 leaves row i out (padding). Rows of one group (the
  /// tokens of one sequence) follow each other; `rows_per_group` = 1 says that rows are
  /// independent. Throws when widths differ or the group does not divide the rows.
  void update(const Eigen::Ref<const RowMatrixD>& rows,
              const std::vector<std::uint8_t>& mask = {},
              Eigen::Index rows_per_group = 1);

  /// Adds everything that `other` has seen; the shifts may differ. The sample stays uniform.
  /// Throws when dimension or sample_rows differ.
  void merge(const MomentAccumulator& other);

  [[nodiscard]] Moments result() const;
  [[nodiscard]] State state() const { return {sums_, reservoir_.state()}; }
  [[nodiscard]] Eigen::Index dimension() const { return sums_.sum.size(); }

 private:
  MomentSums sums_;
  Reservoir reservoir_;
};

}  // namespace kappascope::linalg
