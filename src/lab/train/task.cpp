// SPDX-License-Identifier: Apache-2.0
#include "lab/train/task.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "lab/data/module_tensors.h"
#include "lab/train/device.h"
#include "lab/train/optimizer.h"

namespace kappascope::train {

Task make_task(const TrainConfig& config) {
  config.validate();
  if (config.threads > 0) at::set_num_threads(config.threads);
  Task task;
  task.config = config;
  task.loss_scale = LossScale(config.precision);
  device_named(config.device);  // before LibTorch is asked for the generators of devices
  torch::manual_seed(config.seed);
  task.problem = make_problem(config);
  if (!config.init.empty()) data::load_safetensors(task.model(), config.init);
  const auto rows = task.problem->rows(data::Split::kTrain);
  if (config.batch > rows) {
    throw UsageError(fmt::format("train.batch is {}, but {} holds only {} training {}",
                                 config.batch,
                                 config.data,
                                 rows,
                                 task.problem->unit()));
  }
  task.steps = config.steps_with(rows);
  task.optimizer = make_optimizer(config, task.model());
  return task;
}

}  // namespace kappascope::train
