// SPDX-License-Identifier: Apache-2.0
#include "probes/spectrum_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "probes/scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

}  // namespace

store::Status status_of(const linalg::ExtremeEigenvalues& found, Eigen::Index i) {
  using linalg::KrylovStatus;
  const bool converged = found.status == KrylovStatus::kConverged ||
                         (found.status == KrylovStatus::kMaxProducts && found.converged(i));
  if (!converged) return stored_status(found.status);
  return found.ranked(i) ? store::Status::kConverged : store::Status::kUncertified;
}

void add_eigenvalue(store::Snapshot& out,
                    const std::string& name,
                    const linalg::ExtremeEigenvalues& found,
                    Eigen::Index i) {
  const auto [lower, upper] = found.interval(i);
  add_scalar(out, name, "", found.eigenvalues[i], lower, upper);
  auto& stored = out.scalars.back();
  if (stored.status == store::Status::kOk) stored.status = status_of(found, i);
  if (stored.status == store::Status::kMaxProducts && !found.ranked(i))
    stored.lower = stored.upper = std::nullopt;
}

void add_spectrum(store::Snapshot& out, const linalg::ExtremeEigenvalues& found, int top) {
  const auto count = static_cast<int>(found.eigenvalues.size());
  for (int i = 0; i < std::min(top, count); ++i)
    add_eigenvalue(out, id::kHessianLambda.at(i + 1), found, i);
  for (int i = 0; i < std::min(top, count); ++i)
    add_eigenvalue(out, id::kHessianLambdaMin.at(i + 1), found, count - 1 - i);
}

void add_along(store::Snapshot& out,
               const std::string& series,
               double value,
               const linalg::ExtremeEigenvalues& found,
               double noise) {
  const double error = noise * found.magnitude();
  add_scalar(out, series, "", value, value - error, value + error);
}

void add_preconditioned(store::Snapshot& out, const linalg::ExtremeEigenvalues& found) {
  if (found.eigenvalues.size() > 0) add_eigenvalue(out, id::kPreconditionedLambda, found, 0);
}

void add_density(store::Snapshot& out, const linalg::Density& density) {
  const auto points = density.grid.size();
  store::Array array{id::kHessianDensity, "", {4, points}, {}};
  for (const auto* row : {&density.grid, &density.density, &density.lower, &density.upper}) {
    array.data.insert(array.data.end(), row->data(), row->data() + points);
  }
  if (points > 0) out.arrays.push_back(std::move(array));
  add_scalar(out, id::kHessianTrace, "", density.trace, density.trace_lower, density.trace_upper);
  const auto& negative = density.negative_mass;
  const auto& zero = density.near_zero_mass;
  add_scalar(out, id::kHessianNegativeMass, "", negative.value, negative.lower, negative.upper);
  add_scalar(out, id::kHessianNearZeroMass, "", zero.value, zero.lower, zero.upper);
}

}  // namespace kappascope::probes
