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
  int sketch = 7;
  /// Vectors held at once, the work vector among them; 0: sketch + 2. Fewer make the sketch
  /// smaller.
  int max_vectors = 0;
  std::uint64_t seed = 0;
};

struct TraceEstimate {
  /// kConverged: the error was reached; kMaxProducts: it was not; kNonFinite: no numbers.
  KrylovStatus status = KrylovStatus::kMaxProducts;
  double value = std::numeric_limits<double>::quiet_NaN();
  /// Of the random vectors' mean, from the known distribution of their forms; 0 where the
  /// directions taken out were all there are.
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  /// 95 %, Student's t with as many degrees of freedom as vectors; also where an eigenvalue that
  /// the sketch missed carries the rest.
  double lower = std::numeric_limits<double>::quiet_NaN();
  double upper = std::numeric_limits<double>::quiet_NaN();
  int products = 0;
  int vectors = 0;  ///< random ones that the value and its error are of
};

/// The trace by Hutch++ (Meyer, Musco, Musco and Woodruff 2021): with Q an orthonormal basis of A S
/// for a random S, tr A = tr QᵀAQ + tr (I-QQᵀ)A(I-QQᵀ), the first exactly and the second by random
/// vectors. Four say how many are needed and are no part of the estimate; so many others, at least
/// eight, make it, and more where the error is still too large. Where no twelve fit into the
/// budget, all that fit make it. Memory: sketch + 2 vectors, or max_vectors. Throws when
/// max_products is below 1, sketch or absolute_error is negative, relative_error is not positive,
/// or max_vectors is 1.
TraceEstimate trace(const SymmetricOperator& op, const TraceOptions& options = {});

}  // namespace kappascope::linalg
