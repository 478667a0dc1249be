// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/trace.h"

#include "kappascope/core/statistics.h"
#include "linalg/host_basis.h"
#include "linalg/sphere_forms.h"
#include "linalg/trace_in.h"

namespace kappascope::linalg {
namespace detail {

TraceEstimate trace_estimate(double exact,
                             Eigen::Index order,
                             const Eigen::VectorXd& forms,
                             const Eigen::VectorXd& residuals) {
  TraceEstimate estimate;
  const auto count = static_cast<double>(forms.size()), size = static_cast<double>(order);
  estimate.vectors = static_cast<int>(forms.size());
  estimate.value = exact + size * forms.mean();
  // ‖(B - c) v‖² = ‖(B - v · B v) v‖² + (v · B v - c)²
  const double spread =
      residuals.array().square().mean() + (forms.array() - forms.mean()).square().mean();
  estimate.standard_error = size * form_error(spread, size, count);
  const double reach = student_quantile(0.975, count) * estimate.standard_error;
  estimate.lower = estimate.value - reach;
  estimate.upper = estimate.value + reach;
  return estimate;
}

}  // namespace detail

TraceEstimate trace(const SymmetricOperator& op, const TraceOptions& options) {
  HostBasis basis(op);
  return trace_in(basis, options);
}

}  // namespace kappascope::linalg
