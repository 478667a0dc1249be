// SPDX-License-Identifier: Apache-2.0
/// @file
/// What else a matrix is asked for than its spectrum: solutions of linear systems, its diagonal,
/// and the logarithm of its determinant.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>

#include "kappascope/curvature/operators.h"

namespace kappascope::curvature {

struct SolveOptions {
  double damping = 0;       ///< δ of (C + δ) x = b
  double tolerance = 1e-6;  ///< on ‖b - (C + δ) x‖ / ‖b‖
  int max_products = 500;
};

enum class SolveStatus {
  kConverged,
  kMaxProducts,  ///< the tolerance was not reached
  kStagnated,    ///< two rounds in turn took nothing off the residual: rounding, or b is not in C's
                 ///< range and x makes the residual about as small as it can be
  kNonFinite,    ///< a product was NaN or infinity: x is not to be used
};
/// "converged", "max_products", "stagnated", "non_finite".
const char* to_string(SolveStatus status);

struct Solution {
  at::Tensor x;         ///< [n], in the operator's type and on its device
  double residual = 0;  ///< ‖b - (C + δ) x‖ / ‖b‖, by a product of its own; 0 for b = 0
  int products = 0;
  SolveStatus status = SolveStatus::kConverged;
};

/// Solves (C + δ) x = b by MINRES (Paige and Saunders 1975), which needs no sign of C's
/// eigenvalues; of a singular system with a solution it finds the shortest. What rounding leaves is
/// solved for again (iterative refinement), so that the residual that is returned was measured.
/// Eight vectors of memory. Throws Error where b has another size or is not finite, an option does
/// not fit, or the operator's vectors are shared over processes.
Solution solve(const CurvatureOperator& op, const at::Tensor& b, const SolveOptions& options = {});

struct DiagonalOptions {
  int max_products = 100;
  std::uint64_t seed = 0;
};

/// Estimates of C's diagonal entries, [n] each, in the operator's type.
struct Diagonal {
  at::Tensor value, standard_error;
  int products = 0;
  bool exact = false;  ///< by unit vectors: n products were enough
};

/// The diagonal by Bekas, Kokiopoulou and Saad (2007): the mean of z ⊙ C z over random signs z,
/// which is unbiased; each entry's standard error is that of its own mean, and its variance the sum
/// of squares beside the diagonal of its row. Throws Error for fewer than 2 products, or an
/// operator whose vectors are shared over processes.
Diagonal diagonal(const CurvatureOperator& op, const DiagonalOptions& options = {});

struct LogDeterminantOptions {
  double damping = 0;  ///< δ of log det (C + δ)
  /// C has no negative eigenvalue, as a Gauss-Newton or a Fisher matrix of a convex loss: the lower
  /// bound then needs no more than the damping.
  bool positive_semidefinite = false;
  int starts = 10;  ///< random vectors
  int steps = 40;   ///< of Lanczos from each, a product a step
  std::uint64_t seed = 0;
};

enum class LogDeterminantStatus {
  kEstimated,
  kExact,        ///< from all eigenvalues: n products were no more than `starts` times `steps`
  kNotPositive,  ///< C + δ has an eigenvalue of at most `smallest`, which is not positive
  kNonFinite,
};
/// "estimated", "exact", "not_positive_definite", "non_finite".
const char* to_string(LogDeterminantStatus status);

struct LogDeterminant {
  LogDeterminantStatus status = LogDeterminantStatus::kEstimated;
  double value = std::numeric_limits<double>::quiet_NaN();
  /// 95 %: Student's t over the starts, beyond bounds on each start's own quadrature. The lower one
  /// is -inf where nothing bounds the eigenvalues away from zero. Of kExact, rounding of products.
  double lower = std::numeric_limits<double>::quiet_NaN();
  double upper = std::numeric_limits<double>::quiet_NaN();
  double smallest =
      std::numeric_limits<double>::quiet_NaN();  ///< Ritz value of C + δ that was seen
  int products = 0;
};

/// log det (C + δ) of a positive definite matrix by stochastic Lanczos quadrature (Ubaru, Chen and
/// Saad 2017): the trace of its logarithm, from above by Gauss's rule and from below by Gauss and
/// Radau's with a node at a lower bound of the spectrum (Golub and Meurant 1994). That bound is 0
/// where positive_semidefinite says so, and otherwise the least Ritz value less its residual, where
/// that is a tenth of it at most.
/// Memory: `steps` vectors. Throws Error for fewer than two starts or steps, a damping that is not
/// finite, or an operator whose vectors are shared over processes.
LogDeterminant log_determinant(const CurvatureOperator& op,
                               const LogDeterminantOptions& options = {});

}  // namespace kappascope::curvature
