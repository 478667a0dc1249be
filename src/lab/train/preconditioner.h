// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>

#include <optional>

#include "kappascope/curvature/operators.h"
#include "kappascope/curvature/preconditioner.h"

namespace kappascope::train {

/// What an Adam, AdamW or SGD makes of the gradients of `parameters`, at its learning rate of this
/// moment. Nothing before its first step, for another optimiser, and where the parameters have
/// different rates or betas: then no limit is known.
std::optional<curvature::Preconditioner> preconditioner(
    const torch::optim::Optimizer& optimizer, const curvature::NamedParameters& parameters);

}  // namespace kappascope::train
