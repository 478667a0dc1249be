// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>

#include <memory>

#include "lab/train/config.h"
#include "lab/train/precision.h"
#include "lab/train/problems/problem.h"

namespace kappascope::train {

/// A problem and its optimiser, built from a configuration.
struct Task {
  TrainConfig config;
  std::unique_ptr<Problem> problem;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  int64_t steps = 0;  ///< of the whole run
  LossScale loss_scale;

  [[nodiscard]] torch::nn::Module& model() const { return problem->model(); }
};

/// Builds the problem with weights drawn from config.seed, or read from config.init. Sets the
/// global random state and, when config.threads > 0, the number of threads. Throws UsageError or
/// Error.
Task make_task(const TrainConfig& config);

}  // namespace kappascope::train
