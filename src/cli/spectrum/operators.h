// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cli/curvature_task.h"
#include "kappascope/curvature/operators.h"

namespace kappascope::cli {

inline constexpr const char* kOperatorNames =
    "hessian, ggn (Gauss-Newton), fisher (empirical), or covariance (of the rows' gradients)";

/// Throws UsageError unless `kind` names an operator.
void check_operator(const std::string& kind);

/// The operator of that name on a batch.
std::unique_ptr<curvature::CurvatureOperator> make_operator(
    const std::string& kind,
    const train::Task& task,
    const at::Tensor& rows,
    const curvature::NamedParameters& parameters);

/// Whether 2 / learning rate says something about its eigenvalues.
bool bounds_the_step(const std::string& kind);

}  // namespace kappascope::cli
