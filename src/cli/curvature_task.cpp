// SPDX-License-Identifier: Apache-2.0
#include "cli/curvature_task.h"

#include <torch/torch.h>

#include <algorithm>

#include "kappascope/core/error.h"

namespace kappascope::cli {

curvature::LossFunction curvature_outputs(train::Task& task, int64_t rows) {
  if (rows < 1) throw UsageError("the curvature needs at least one training image");
  const auto images = task.train_set.images.narrow(0, 0, std::min(rows, task.train_set.size()));
  return [model = task.model, images]() mutable {
    const bool was_training = model->is_training();
    model->eval();
    const auto outputs = model->forward(images);
    model->train(was_training);
    return outputs;
  };
}

curvature::LossFunction curvature_losses(train::Task& task, int64_t rows) {
  const auto outputs = curvature_outputs(task, rows);
  const auto labels = task.train_set.labels.narrow(0, 0, std::min(rows, task.train_set.size()));
  return [outputs, labels, config = task.config] {
    return train::losses_of(config, outputs(), labels);
  };
}

curvature::LossFunction curvature_loss(train::Task& task, int64_t rows) {
  return [losses = curvature_losses(task, rows)] { return losses().mean(); };
}

}  // namespace kappascope::cli
