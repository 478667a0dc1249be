// SPDX-License-Identifier: Apache-2.0
// Moments of rows whose population covariance is known: what the error of kappa is tested on.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "kappascope/linalg/features/moments.h"

namespace kappascope::test {

enum class Rows {
  kGaussian,
  kEllipticalT,   ///< Student t, 5 degrees of freedom: one heavy scale a row
  kIndependentT,  ///< Student t, 5 degrees of freedom, coordinate by coordinate
};
const char* to_string(Rows rows);

/// Moments of n rows of width d with mean zero and covariance I, and a sample of at most 512 rows,
/// jointly distributed as if MomentAccumulator had seen every row. Gaussian rows beyond the sample
/// are not drawn one by one: their scatter is Wishart (Bartlett 1933), O(d³) whatever n is.
/// Products of Student rows are made in float, by blocks, and added in double.
linalg::Moments whitened_moments(Rows rows, Eigen::Index n, Eigen::Index d, std::uint64_t seed);

/// Moments of these rows, with a sample of `sample_rows` of them.
linalg::Moments moments_of(const linalg::RowMatrixD& rows, Eigen::Index sample_rows = 512);

/// Moments of the rows μ + diag(sqrt(spectrum)) w, for `whitened` those of w.
linalg::Moments planted(const linalg::Moments& whitened,
                        const Eigen::VectorXd& spectrum,
                        const Eigen::VectorXd& mu);

}  // namespace kappascope::test
