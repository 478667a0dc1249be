// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "core/require.h"
#include "kappascope/linalg/random.h"
#include "kappascope/linalg/trace.h"
#include "linalg/krylov.h"

namespace kappascope::linalg {

namespace detail {
/// The estimate from the exact part, and of random unit vectors the forms v · B v and the residuals
/// ‖B v - (v · B v) v‖, B being the rest, of order `order`.
TraceEstimate trace_estimate(double exact,
                             Eigen::Index order,
                             const Eigen::VectorXd& forms,
                             const Eigen::VectorXd& residuals);
}  // namespace detail

/// The same for a basis anywhere.
template <KrylovBasis Basis>
TraceEstimate trace_in(Basis& basis, const TraceOptions& options) {
  constexpr int kFewest = 8, kPilot = 4;
  require(options.max_products >= 1 && options.sketch >= 0 && options.relative_error > 0,
          "a trace needs max_products >= 1, sketch >= 0 and relative_error > 0, got {}, {}, {}",
          options.max_products,
          options.sketch,
          options.relative_error);
  require(options.absolute_error >= 0 && options.max_vectors != 1 && options.max_vectors >= 0,
          "a trace needs absolute_error >= 0 and max_vectors 0 or >= 2, got {} and {}",
          options.absolute_error,
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
  int products = estimate.products;
  Eigen::VectorXd forms(0), residuals(0);
  const auto draw = [&] {
    basis.random(random.next());
    orthogonalise(taken);
    basis.store(taken, 1 / basis.norm());
    basis.multiply(taken);
    const auto drawn = forms.size();
    forms.conservativeResize(drawn + 1);
    residuals.conservativeResize(drawn + 1);
    forms(drawn) = basis.dot(taken);
    orthogonalise(taken);
    basis.axpy(-forms(drawn), taken);
    residuals(drawn) = basis.norm();
    estimate = detail::trace_estimate(exact, basis.size() - taken, forms, residuals);
    estimate.products = ++products;
  };
  const auto goal = [&] {
    return std::max(options.absolute_error, options.relative_error * std::abs(estimate.value));
  };
  int count = options.max_products - products;
  if (count >= kPilot + kFewest) {
    count -= kPilot;
    while (forms.size() < kPilot) draw();
    const double missed = estimate.standard_error / goal();
    // Not finite where the goal is 0.
    const double needed = missed > 1 ? kPilot * missed * missed : 0;
    count = static_cast<int>(std::clamp<double>(std::ceil(needed), kFewest, count));
    forms.resize(0);
    residuals.resize(0);
  }
  do {
    draw();
    if (!std::isfinite(estimate.value))
      return {.status = KrylovStatus::kNonFinite, .products = products};
    if (forms.size() >= count && estimate.standard_error <= goal()) {
      estimate.status = KrylovStatus::kConverged;
      break;
    }
  } while (products < options.max_products);
  return estimate;
}

}  // namespace kappascope::linalg
