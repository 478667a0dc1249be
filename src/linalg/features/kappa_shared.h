// SPDX-License-Identifier: Apache-2.0
// What the two routes to condition numbers share.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "kappascope/linalg/features/kappa.h"

namespace kappascope::linalg {

/// Throws when mean, covariance, kept rows and bias differ in width, or the bias is not finite.
void check_widths(const Moments& moments, const Eigen::VectorXd& bias);

/// The answer where there is nothing to decompose.
Conditioning without_spectrum(const Moments& moments, double confidence);

void count_constants(std::int64_t n,
                     const Eigen::VectorXd& mean,
                     const Eigen::VectorXd& variances,
                     Conditioning& result);

}  // namespace kappascope::linalg
