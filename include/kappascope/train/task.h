// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>

#include "kappascope/data/image_set.h"
#include "kappascope/nn/mlp_stack.h"
#include "kappascope/train/config.h"

namespace kappascope::train {

/// A classifier, its data, its loss and its optimiser, built from a configuration.
struct Task {
  TrainConfig config;
  data::ImageSet train_set, test_set;
  nn::MlpStack model{nullptr};
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  int64_t steps = 0;  ///< of the whole run
};

/// Loads the data and builds the model with weights drawn from config.seed. Sets the global random
/// state and, when config.threads > 0, the number of threads. Throws UsageError or Error.
Task make_task(const TrainConfig& config);

/// One training loss a row of `outputs` [batch, classes] for `labels` [batch].
at::Tensor losses_of(const TrainConfig& config,
                     const at::Tensor& outputs,
                     const at::Tensor& labels);
/// Their mean, a scalar.
at::Tensor loss_of(const TrainConfig& config, const at::Tensor& outputs, const at::Tensor& labels);

struct Evaluation {
  double loss = 0, accuracy = 0;
};
/// Mean loss and accuracy on a set, in evaluation mode; the mode is restored.
Evaluation evaluate(Task& task, const data::ImageSet& set);

}  // namespace kappascope::train
