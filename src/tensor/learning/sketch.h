// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/tensor/learning.h"
#include "linalg/learning/sketch.h"
#include "tensor/learning/blocked_rows.h"

namespace kappascope::tensor {

/// A sketch of these rows times `scale` [d], by Lanczos.
linalg::Sketch sketch_of(const BlockedRows& rows,
                         const Eigen::VectorXd& scale,
                         const Eigen::VectorXd& bias,
                         const LearningOptions& options);

}  // namespace kappascope::tensor
