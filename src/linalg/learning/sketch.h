// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "kappascope/linalg/learning.h"

/// What linalg::learning() needs to know of rows, however it was computed: by eigendecompositions
/// on the host, by Lanczos where the rows are.
namespace kappascope::linalg {

/// uᵀ (M + λ)⁻¹ v over the λ of Trained::lambdas, or a trace of such, between two bounds.
struct Curve {
  Eigen::ArrayXd low, high;
  double total = 0;  ///< uᵀ v: what λ times the curve tends to

  Curve& operator+=(const Curve& other);
  Curve& operator*=(double factor);
};

/// A part of the rows whose second moment about its mean is M, and what other rows show of it.
struct Trained {
  Eigen::ArrayXd lambdas;
  Curve own;  ///< tr[M (M + λ)⁻¹]
  /// [blocks] tr[Y_bᵀY_b (M + λ)⁻¹] with the rows y of a block about the mean of their half; empty
  /// where another block has its part, and for those of this half.
  std::vector<Curve> held;
  /// For c = m and c = m + b, with m the mean of this part (one entry where there is no bias):
  /// s_bᵀ (M + λ)⁻¹ c with s_b the sum of a block's rows [blocks], and bᵀ (M + λ)⁻¹ c.
  struct Along {
    std::vector<Curve> sums;
    Curve bias;
  };
  std::vector<Along> along;
  double top = 0;                ///< largest eigenvalue of M
  std::vector<double> top_held;  ///< [blocks] Σ (uᵀy)² over a block, u the top eigenvector
};

/// From ten times the largest eigenvalue to a millionth of it.
Eigen::ArrayXd lambdas_below(double top);

/// Halves 0 and 1 of the rows: blocks of even and of odd number.
struct Sketch {
  std::vector<double> block_rows;
  std::array<Trained, 2> halves;
  std::vector<Trained> without;  ///< [blocks] a half without one of its blocks
  bool has_bias = false;
};

/// Which rows make which block.
struct Blocks {
  std::vector<Eigen::Index> begins;  ///< [blocks + 1], in rows
  [[nodiscard]] Eigen::Index count() const {
    return std::max<Eigen::Index>(0, std::ssize(begins) - 1);
  }
  [[nodiscard]] Eigen::Index begin(Eigen::Index b) const {
    return begins[static_cast<std::size_t>(b)];
  }
  [[nodiscard]] Eigen::Index rows(Eigen::Index b) const { return begin(b + 1) - begin(b); }
};
/// Eight blocks of whole groups, or fewer and an even number where there are fewer groups; none
/// below four groups.
Blocks blocks_of(const std::vector<Eigen::Index>& group_rows);

/// Throws for arguments of learning() that do not fit.
void check(const LearningOptions& options,
           Eigen::Index rows,
           Eigen::Index dimension,
           const Eigen::VectorXd& bias);

/// Learning times of Σ, and of its rank-one updates, from a sketch of the rows times `scale`,
/// feature by feature: of all three where nothing is scaled, otherwise one for each.
LearningTimes learn(const LearningOptions& options,
                    const Eigen::VectorXd& mean,
                    const Eigen::VectorXd& variance,
                    const Eigen::VectorXd& bias,
                    const std::function<Sketch(const Eigen::VectorXd& scale)>& sketch_of);

/// No number of steps, of rows in fewer than four groups.
LearningTimes too_few_groups();

}  // namespace kappascope::linalg
