// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <vector>

#include "kappascope/linalg/features/kappa.h"
#include "kappascope/linalg/features/moments.h"

namespace kappascope::linalg {

struct SketchOptions {
  /// What the sketch may hold and work in, in bytes: half for the top of the spectrum, half for the
  /// channels. Exact moments take d² doubles. On top come two dozen vectors of d numbers and 256
  /// kept rows of the chosen channels.
  std::int64_t memory_bytes = std::int64_t{256} << 20;
  std::uint64_t seed = 0;  ///< of the choice of channels
};

/// What a sketch says of one matrix, for the rows that it saw. Every bound holds for the moments of
/// all d channels as they would have been accumulated, whatever the rows were; `population_lower`
/// alone is statistical.
struct SketchedKappa {
  /// λmax of the sample matrix lies between.
  double lambda_max_lower = 0, lambda_max_upper = std::numeric_limits<double>::infinity();
  /// λmin of the sample matrix is at most this: the smallest eigenvalue of the chosen channels.
  double lambda_min_upper = std::numeric_limits<double>::infinity();
  /// κ of the sample matrix is at least λmax's lower bound over λmin's upper one; there is no upper
  /// bound, as channels that were left out may be dependent: kNotResolvable, unless all are kept.
  double lower = 1;
  /// κ of the population is at least this, with the confidence of one end of an interval: that of
  /// the chosen channels, which the choice cannot have made worse.
  double population_lower = 1;
  KappaEstimate of_channels;  ///< what the chosen channels alone show
};

struct SketchedConditioning {
  std::int64_t n = 0, nonfinite_rows = 0;
  Eigen::Index directions = 0;         ///< rows of the sketch of the top
  std::vector<Eigen::Index> channels;  ///< chosen, ascending
  SketchedKappa sigma, second_moment, with_bias;
  double trace = 0;                                       ///< tr Σ, exact
  std::int64_t constant_features = 0, dead_features = 0;  ///< of all d, exact
};

/// Moments of a layer for which d² doubles are too many, in memory that the user sets.
///
/// The top of the spectrum by Frequent Directions (Liberty 2013; Ghashami, Liberty, Phillips and
/// Woodruff 2016): ℓ rows B with 0 ⪯ Σ(x-s)(x-s)ᵀ - BᵀB ⪯ δ I, where δ is added up as it is lost,
/// so that the error is known and not only bounded. Rank-one terms with the exact mean then give Σ
/// and its updates between the same two limits, and with them their λmax. The bottom by the exact
/// moments of channels chosen at random before any row is seen. A principal submatrix interlaces
/// (Cauchy): its λmin is at least that of the whole, and its κ at most. Cost per row: about 8 ℓ d
/// multiply-adds, and s² for s channels.
class MomentSketch {
 public:
  /// Throws when the memory holds fewer than four directions or two channels.
  explicit MomentSketch(Eigen::Index dimension, const SketchOptions& options = {});

  /// Adds rows [tokens, d]; rows that are not finite are counted and left out. Rows of one group
  /// follow each other, as in MomentAccumulator.
  void update(const Eigen::Ref<const RowMatrixD>& rows, Eigen::Index rows_per_group = 1);

  /// `bias` empty for none. Throws when its width is not d.
  [[nodiscard]] SketchedConditioning result(const Eigen::VectorXd& bias = {},
                                            double confidence = 0.95) const;

  /// Bytes held and worked in at most, as the option counts them.
  [[nodiscard]] std::int64_t memory_bytes() const;

 private:
  void shrink();
  [[nodiscard]] SketchedKappa bounds(const Eigen::VectorXd& v,
                                     const KappaEstimate& of_channels) const;

  Eigen::Index dimension_, directions_;
  std::vector<Eigen::Index> channels_;
  MomentAccumulator chosen_;
  RowMatrixD buffer_;  // [2 ℓ, d], of which `filled_` rows are in use
  Eigen::Index filled_ = 0;
  double lost_ = 0;  // δ
  std::int64_t n_ = 0, nonfinite_rows_ = 0;
  Eigen::VectorXd shift_, sum_, squares_;  // s, Σ(x-s), Σ(x-s)²
};

}  // namespace kappascope::linalg
