// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "kappascope/linalg/lanczos.h"

namespace kappascope::linalg {

struct TraceOptions {
  int max_products = 100;
  /// The standard error, as a share of the estimate, at which to stop.
  double relative_error = 0.05;
  /// The standard error at which to stop whatever the estimate is. Where positive and negative
  /// eigenvalues cancel, no share of the trace is reached, and this is what to set.
  double absolute_error = 0;
  /// Directions whose part of the trace is taken exactly, two products each: where a few
  /// eigenvalues carry the trace, the rest hardly varies. 0 is Hutchinson's own estimator.
  int sketch = 5;
  /// Vectors held at once, the work vector among them; 0: sketch + 2. Fewer make the sketch
  /// smaller.
  int max_vectors = 0;
  std::uint64_t seed = 0;
};

struct TraceEstimate {
  /// kConverged: the error was reached; kMaxProducts: it was not; kNonFinite: no numbers.
  KrylovStatus status = KrylovStatus::kMaxProducts;
  double value = std::numeric_limits<double>::quiet_NaN();
  /// Over the random vectors; 0 where the directions taken out were all there are, NaN where fewer
  /// than two vectors were left in the budget.
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  double lower = std::numeric_limits<double>::quiet_NaN();  ///< 95 %, Student's t
  double upper = std::numeric_limits<double>::quiet_NaN();
  int products = 0;
  int vectors = 0;  ///< random ones
};

/// The trace by Hutch++ (Meyer, Musco, Musco and Woodruff 2021): with Q an orthonormal basis of A S
/// for a random S, tr A = tr QᵀAQ + tr (I-QQᵀ)A(I-QQᵀ), the first exactly and the second by random
/// vectors, until the error is small enough. At least eight of them, so that the error is one.
/// Unbiased but for the stopping, which looks at the same vectors. Memory: sketch + 2 vectors, or
/// max_vectors. Throws when max_products is below 1, sketch or absolute_error is negative,
/// relative_error is not positive, or max_vectors is 1.
TraceEstimate trace(const SymmetricOperator& op, const TraceOptions& options = {});

}  // namespace kappascope::linalg
