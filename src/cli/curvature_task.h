// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/curvature/operators.h"
#include "kappascope/train/task.h"

namespace kappascope::cli {

/// The training loss, its terms a row, or the outputs, on the first `rows` training images, in
/// evaluation mode (dropout inactive); the model's mode is restored after each evaluation. `task`
/// must outlive it.
curvature::LossFunction curvature_loss(train::Task& task, int64_t rows);
curvature::LossFunction curvature_losses(train::Task& task, int64_t rows);
curvature::LossFunction curvature_outputs(train::Task& task, int64_t rows);

}  // namespace kappascope::cli
