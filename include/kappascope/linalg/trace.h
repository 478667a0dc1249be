// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kappascope/core/error.h"
#include "kappascope/linalg/krylov.h"
#include "kappascope/linalg/lanczos.h"
#include "kappascope/linalg/random.h"

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

namespace detail {
/// The estimate from the exact part and the quadratic forms of the random vectors.
TraceEstimate trace_estimate(double exact, const Eigen::VectorXd& forms);
}  // namespace detail

/// The trace by Hutch++ (Meyer, Musco, Musco and Woodruff 2021): with Q an orthonormal basis of A S
/// for a random S, tr A = tr QᵀAQ + tr (I-QQᵀ)A(I-QQᵀ), the first exactly and the second by random
/// vectors, until the error is small enough. At least eight of them, so that the error is one.
/// Unbiased but for the stopping, which looks at the same vectors. Memory: sketch + 2 vectors, or
/// max_vectors. Throws when max_products is below 1, sketch or absolute_error is negative,
/// relative_error is not positive, or max_vectors is 1.
template <KrylovBasis Basis>
TraceEstimate trace_in(Basis& basis, const TraceOptions& options) {
  constexpr Eigen::Index kFewest = 8;
  require(options.max_products >= 1 && options.sketch >= 0 && options.relative_error > 0,
          "a trace needs max_products >= 1, sketch >= 0 and relative_error > 0, got ",
          options.max_products,
          ", ",
          options.sketch,
          ", ",
          options.relative_error);
  require(options.absolute_error >= 0 && options.max_vectors != 1 && options.max_vectors >= 0,
          "a trace needs absolute_error >= 0 and max_vectors 0 or >= 2, got ",
          options.absolute_error,
          " and ",
          options.max_vectors);
  Random random(options.seed);
  TraceEstimate estimate;
  const auto orthogonalise = [&](Eigen::Index count) {
    for (int pass = 0; pass < 2; ++pass) basis.subtract(basis.project(count));
  };
  Eigen::Index taken = 0;
  const int fits = options.max_vectors > 0 ? options.max_vectors - 2 : options.sketch;
  const auto wanted = std::min<Eigen::Index>(std::min(options.sketch, fits), basis.size());
  while (taken < wanted && estimate.products + 2 * kFewest < options.max_products) {
    basis.random(random.next());
    basis.store(taken, 1);
    basis.multiply(taken);
    ++estimate.products;
    const double before = basis.norm();
    if (!std::isfinite(before))
      return {.status = KrylovStatus::kNonFinite, .products = estimate.products};
    orthogonalise(taken);
    const double length = basis.norm();
    if (length <= 1e-6 * before) break;  // the range of A is in the basis
    basis.store(taken++, 1 / length);
  }
  double exact = 0;
  for (Eigen::Index i = 0; i < taken; ++i) {
    basis.multiply(i);
    ++estimate.products;
    exact += basis.dot(i);
  }
  if (taken == basis.size()) {
    estimate.status = std::isfinite(exact) ? KrylovStatus::kConverged : KrylovStatus::kNonFinite;
    estimate.value = estimate.lower = estimate.upper = exact;
    estimate.standard_error = 0;
    return estimate;
  }
  const int products = estimate.products;
  Eigen::VectorXd forms(0);
  while (products + forms.size() < options.max_products) {
    basis.random(random.next());
    orthogonalise(taken);
    basis.store(taken, 1);
    basis.multiply(taken);
    forms.conservativeResize(forms.size() + 1);
    forms(forms.size() - 1) = basis.dot(taken);
    estimate = detail::trace_estimate(exact, forms);
    estimate.products = products + estimate.vectors;
    if (!std::isfinite(estimate.value))
      return {.status = KrylovStatus::kNonFinite, .products = estimate.products};
    if (forms.size() >= kFewest &&
        estimate.standard_error <=
            std::max(options.absolute_error, options.relative_error * std::abs(estimate.value))) {
      estimate.status = KrylovStatus::kConverged;
      break;
    }
  }
  return estimate;
}

/// The same for an operator of the host.
TraceEstimate trace(const SymmetricOperator& op, const TraceOptions& options = {});

}  // namespace kappascope::linalg
