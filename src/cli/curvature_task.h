// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/curvature/operators.h"
#include "kappascope/train/task.h"

namespace kappascope::cli {

/// Training images with their labels.
struct Batch {
  at::Tensor images, labels;
};
/// The first `rows` of them (all where there are fewer); throws UsageError below one.
Batch first_rows(const train::Task& task, int64_t rows);
/// Those of the numbers `rows`, [n] int64, copied.
Batch chosen_rows(const train::Task& task, const at::Tensor& rows);

/// The training loss, its terms a row, or the outputs, on a batch, in evaluation mode (dropout
/// inactive); the model's mode is restored after each evaluation.
curvature::LossFunction curvature_loss(const train::Task& task, const Batch& batch);
curvature::LossFunction curvature_losses(const train::Task& task, const Batch& batch);
curvature::LossFunction curvature_outputs(const train::Task& task, const Batch& batch);

}  // namespace kappascope::cli
