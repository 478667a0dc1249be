// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>

#include "kappascope/curvature/operators.h"

namespace kappascope::curvature {

/// The curvature of the mean loss over the rows `rows`, [n] int64 on the host, of a data set: H_n.
/// It must be the mean of what each row contributes (a loss that mixes rows, as batch normalisation
/// does, has no H of the distribution that batches of it estimate).
using RowsOperator = std::function<std::unique_ptr<CurvatureOperator>(const at::Tensor& rows)>;

struct BatchesOptions {
  int batches = 8;         ///< independent ones; even, and four at least
  int64_t rows = 256;      ///< of each
  std::uint64_t seed = 0;  ///< which rows
  linalg::LanczosOptions lanczos = {};
};

/// Means over independent samples, [k] each, with 95 % intervals by Student's t.
struct SampleMeans {
  Eigen::VectorXd value, standard_error, lower, upper;
};

/// Eigenvalues over independent batches, and what they say of the distribution.
///
/// The largest eigenvalue is a convex function of the matrix, so E λ_1(H_n) >= λ_1(E H_n) = λ_1(H):
/// batches see it too large, and the smallest one too small, by O(1/n) where there is a gap. The
/// mean over batches therefore estimates E λ_i(H_n), and no number of batches of n rows takes the
/// bias out. It is estimated from pairs of batches and their union: E λ(H_n) - E λ(H_2n) is half of
/// it, and 2 λ(union) - (λ(one) + λ(other))/2 is free of it, up to O(1/n²) (Quenouille's jackknife
/// of two halves; Richardson).
///
/// The intervals assume rows drawn independently of each other, and values near enough to normal
/// for a mean of so few batches (of so few pairs, for what is corrected).
struct SampledEigenvalues {
  /// kConverged, or the worst outcome of an eigenproblem. There are no numbers with kNonFinite, or
  /// where a budget of products left a batch with fewer pairs than another.
  linalg::KrylovStatus status = linalg::KrylovStatus::kConverged;
  /// Each value of each problem is certified to be that of its rank; the unions, which start from a
  /// batch's vectors, only where that is asked for (LanczosOptions::certify).
  bool certified = true;
  Eigen::MatrixXd values;  ///< [batches, k], each row descending: matched by rank
  SampleMeans batch;       ///< E λ_i(H_n)
  SampleMeans bias;        ///< E λ_i(H_n) - λ_i(H)
  SampleMeans corrected;   ///< λ_i(H)
  /// [batches/2, k] |cos| between the eigenvectors of one rank in the two batches of a pair: near 1
  /// where a rank means the same direction everywhere, near 0 where it does not.
  Eigen::MatrixXd overlap;
  int64_t rows = 0;   ///< of all batches together
  int products = 0;   ///< batches and unions
  double passes = 0;  ///< cost in gradients of the whole data set: a graph one, a product two
};

/// Throws when the data set, of `rows` rows, is too small for the batches, or an option does not
/// fit. Cost: the eigenproblems of the batches, and of their unions, which start from a batch's
/// vectors.
SampledEigenvalues sampled_eigenvalues(const RowsOperator& op,
                                       int64_t rows,
                                       const BatchesOptions& options = {});

}  // namespace kappascope::curvature
