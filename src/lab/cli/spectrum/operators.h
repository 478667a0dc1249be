// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kappascope/curvature/operators.h"
#include "kappascope/curvature/preconditioner.h"
#include "lab/cli/train/curvature_task.h"
#include "lab/train/checkpoint/checkpoint.h"

namespace kappascope::cli {

inline constexpr const char* kOperatorNames =
    "hessian, preconditioned (the Hessian as the run's optimiser sees it), ggn (Gauss-Newton), "
    "fisher (empirical), or covariance (of the rows' gradients)";

/// Throws UsageError unless `kind` names an operator.
void check_operator(const std::string& kind);

/// What the run's optimiser makes of a gradient of `parameters` after a checkpoint, at the learning
/// rate of its last step. With momentum or without, plain SGD sees the Hessian and the Gauss-Newton
/// matrix themselves; of another optimiser it is loaded for the operator "preconditioned" alone.
/// Nothing where its limit is not known. Throws UsageError where "preconditioned" needs it then.
std::optional<curvature::Preconditioner> optimiser_view(
    const std::string& kind,
    const train::Task& task,
    const train::Checkpoint& checkpoint,
    double rate,
    const curvature::NamedParameters& parameters);

/// The operator of that name on a batch. `scale`: the diagonal of P^(-1/2), of "preconditioned"
/// alone; undefined: P = 1.
std::unique_ptr<curvature::CurvatureOperator> make_operator(
    const std::string& kind,
    const train::Task& task,
    const at::Tensor& rows,
    const curvature::NamedParameters& parameters,
    const at::Tensor& scale);

/// Whether 2 / learning rate says something about its eigenvalues.
bool bounds_the_step(const std::string& kind);

}  // namespace kappascope::cli
