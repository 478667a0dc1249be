// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

namespace kappascope::linalg {

/// Eigenvalue number k (ascending from 0) of diag(values) + z zᵀ, in O(d) a step.
///
/// It lies in [values(k), values(k+1)], the last one in [values(d-1), values(d-1) + ‖z‖²]
/// (interlacing), and is there the point at which the secular function
///   f(x) = 1 + Σ_i z_i² / (values_i - x)
/// changes from negative to positive (Golub 1973). It is bisected in τ = x - (nearer end of the
/// interval), whose digits do not cancel against the origin (Gu and Eisenstat 1994): the answer is
/// right to a few units in its last place for the given `values` and `z`, however small it is
/// beside the others. Zero entries of z and repeated values need no special treatment.
///
/// `values` ascending, [d], d > 0; z is [d]; 0 <= k < d. Throws otherwise, and for non-finite
/// input.
double secular_eigenvalue(const Eigen::VectorXd& values, const Eigen::VectorXd& z, Eigen::Index k);

}  // namespace kappascope::linalg
