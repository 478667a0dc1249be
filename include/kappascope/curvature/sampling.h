// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <limits>
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

struct TopEigenvalueOptions {
  double relative_half_width = 0.05;  ///< of the 95 % interval, as a share of the value
  int64_t first_rows = 512;           ///< batch of the first eigenproblem
  int64_t block_rows = 128;           ///< of one product on fresh rows
  int first_blocks = 16;              ///< before a standard error is looked at; four at least
  double max_passes = 20;             ///< budget, in gradients of the whole data set
  std::uint64_t seed = 0;             ///< order of the rows
  /// A direction right to 1e-2 is enough: its error enters λ_1 squared, and the fresh rows see it.
  /// The second value gives the gap. @hideinitializer
  linalg::LanczosOptions lanczos = {.top = 2, .tolerance = 1e-2};
};

enum class SamplingStatus {
  kReached,    ///< the interval is as narrow as asked
  kDataEnded,  ///< every row was used first; the interval is the narrowest that they give
  kBudget,     ///< max_passes ended first
  kNonFinite,  ///< a product was NaN or infinity: no numbers
};
const char* to_string(SamplingStatus status);

/// λ_1(H) of the distribution that the rows come from.
struct TopEigenvalue {
  SamplingStatus status = SamplingStatus::kBudget;
  double value = std::numeric_limits<double>::quiet_NaN();
  double lower = std::numeric_limits<double>::quiet_NaN();  ///< 95 %
  double upper = std::numeric_limits<double>::quiet_NaN();
  double quotient = std::numeric_limits<double>::quiet_NaN();  ///< vᵀHv over fresh rows
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  /// At most this much does λ_1(H) exceed vᵀHv, to second order.
  double deficit = std::numeric_limits<double>::quiet_NaN();
  /// λ_1 of the batch that gave v: too large in the mean, by about the deficit again.
  double batch_value = std::numeric_limits<double>::quiet_NaN();
  linalg::KrylovStatus eigenproblem = linalg::KrylovStatus::kMaxProducts;  ///< of that batch
  int64_t batch_rows = 0, fresh_rows = 0;  ///< of the batch, and of the products after it
  int products = 0;                        ///< all of them, on batches of any size
  double passes = 0;  ///< cost in gradients of the whole data set: a graph one, a product two
  at::Tensor vector;  ///< [n] v, of length 1
};

/// Grows the batch until the 95 % interval of λ_1(H) is as narrow as asked.
///
/// An eigenproblem costs a dozen products, one number vᵀH_b v a single one. So v comes from a
/// batch, and rows that had no part in it, in small blocks b, give the unbiased mean of vᵀH_b v
/// with its standard error. vᵀHv <= λ_1(H) whatever v is, and from below:
///   λ_1(H) - vᵀHv = rᵀ(λ_1 - H')⁻¹ r <= Σ_j (v_j·r)²/(vᵀHv - λ_j),   r = (H - vᵀHv) v,
/// with H' the curvature without v, r from the same products, and λ_2, … with their v_j from the
/// batch (the last one stands for all that was not computed): Temple's inequality, one direction at
/// a time. The noise in r and the batch's λ_j lean to the safe side. The interval is
///   [vᵀHv - t·se, vᵀHv + t·se + deficit],
/// and λ_1(H_n) itself, which is biased upwards (see SampledEigenvalues), is in no part of it.
/// Where the deficit alone takes most of the width, the batch grows by all rows seen, and at least
/// twofold, its eigenproblem starting from v.
///
/// Assumptions: independent rows; blocks large enough for the mean of their numbers to be near
/// normal; a gap below λ_1 that is resolved by the batch (without one the deficit stays large, and
/// so the status says). Looking more than once costs little coverage, as each look asks for the
/// number of blocks that the last one foresaw.
/// Throws when there are fewer than 2 · first_blocks rows, or an option does not fit.
TopEigenvalue top_eigenvalue(const RowsOperator& op,
                             int64_t rows,
                             const TopEigenvalueOptions& options = {});

}  // namespace kappascope::curvature
