// SPDX-License-Identifier: Apache-2.0
#include "cli/curvature_task.h"

#include <torch/torch.h>

#include <algorithm>

#include "kappascope/core/error.h"

namespace kappascope::cli {

Batch first_rows(const train::Task& task, int64_t rows) {
  if (rows < 1) throw UsageError("the curvature needs at least one training image");
  const auto& set = task.train_set;
  rows = std::min(rows, set.size());
  return {set.images.narrow(0, 0, rows), set.labels.narrow(0, 0, rows)};
}

Batch chosen_rows(const train::Task& task, const at::Tensor& rows) {
  const auto& set = task.train_set;
  return {set.images.index_select(0, rows), set.labels.index_select(0, rows)};
}

curvature::LossFunction curvature_outputs(const train::Task& task, const Batch& batch) {
  return [model = task.model, images = batch.images]() mutable {
    const bool was_training = model->is_training();
    model->eval();
    const auto outputs = model->forward(images);
    model->train(was_training);
    return outputs;
  };
}

curvature::LossFunction curvature_losses(const train::Task& task, const Batch& batch) {
  return [outputs = curvature_outputs(task, batch), labels = batch.labels, config = task.config] {
    return train::losses_of(config, outputs(), labels);
  };
}

curvature::LossFunction curvature_loss(const train::Task& task, const Batch& batch) {
  return [losses = curvature_losses(task, batch)] { return losses().mean(); };
}

}  // namespace kappascope::cli
