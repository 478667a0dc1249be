// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/curvature/operators.h"
#include "lab/train/task.h"

namespace kappascope::cli {

/// Numbers of the first `rows` training rows (of all where there are fewer), [n] int64; throws
/// UsageError below one.
at::Tensor first_rows(const train::Task& task, int64_t rows);

/// The training loss, one loss a row (of a window of text the mean over its tokens), or the
/// outputs, on training rows of the numbers `rows` ([n] int64), in evaluation mode (dropout
/// inactive), and with attention written out where its tables fit into memory; the model is as it
/// was after each evaluation. `task` must outlive it.
curvature::LossFunction curvature_loss(const train::Task& task, const at::Tensor& rows);
curvature::LossFunction curvature_losses(const train::Task& task, const at::Tensor& rows);
curvature::LossFunction curvature_outputs(const train::Task& task, const at::Tensor& rows);

}  // namespace kappascope::cli
