// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/trace.h"

#include <cmath>

#include "kappascope/core/statistics.h"
#include "kappascope/linalg/host_basis.h"
#include "kappascope/linalg/trace_in.h"

namespace kappascope::linalg {
namespace detail {

TraceEstimate trace_estimate(double exact, const Eigen::VectorXd& forms) {
  TraceEstimate estimate;
  estimate.vectors = static_cast<int>(forms.size());
  const double mean = forms.mean(), count = static_cast<double>(forms.size());
  estimate.value = exact + mean;
  if (forms.size() < 2) return estimate;
  const double squares = (forms.array() - mean).square().sum();
  estimate.standard_error = std::sqrt(squares / (count - 1) / count);
  const double reach = student_quantile(0.975, estimate.vectors - 1) * estimate.standard_error;
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
