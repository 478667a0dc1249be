// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kappascope/linalg/density.h"
#include "kappascope/linalg/lanczos.h"
#include "kappascope/store/run.h"

namespace kappascope::probes {

// What a Hessian window leaves in a snapshot; bounds hold the noise of products too.

/// What value i alone is worth: it may be converged, and of its rank, where others are not.
store::Status status_of(const linalg::ExtremeEigenvalues& found, Eigen::Index i);
/// It with its interval; a number that is none keeps the status that says so. Of one whose
/// iteration ended early an interval is stored only where it holds that of its rank.
void add_eigenvalue(store::Snapshot& out,
                    const std::string& name,
                    const linalg::ExtremeEigenvalues& found,
                    Eigen::Index i);

/// hessian/lambda_1.. and hessian/lambda_min_1.., `top` of each at most.
void add_spectrum(store::Snapshot& out, const linalg::ExtremeEigenvalues& found, int top);
/// A curvature along one direction of an operator whose eigenvalues were `found`: off by `noise`
/// times its norm at most.
void add_along(store::Snapshot& out,
               const std::string& series,
               double value,
               const linalg::ExtremeEigenvalues& found,
               double noise);
/// hessian/preconditioned, where an eigenvalue was found.
void add_preconditioned(store::Snapshot& out, const linalg::ExtremeEigenvalues& found);
/// hessian/density, hessian/trace and what the density says near and below zero.
void add_density(store::Snapshot& out, const linalg::Density& density);

}  // namespace kappascope::probes
