// SPDX-License-Identifier: Apache-2.0
#include "kappascope/train/task.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "kappascope/core/error.h"

namespace kappascope::train {
namespace {

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainConfig& config,
                                                        torch::nn::Module& model) {
  const auto parameters = model.parameters();
  const std::tuple<double, double> betas{config.beta1, config.beta2};
  if (config.optimizer == "adam") {
    return std::make_unique<torch::optim::Adam>(parameters,
                                                torch::optim::AdamOptions(config.learning_rate)
                                                    .betas(betas)
                                                    .weight_decay(config.weight_decay));
  }
  if (config.optimizer == "adamw") {
    return std::make_unique<torch::optim::AdamW>(parameters,
                                                 torch::optim::AdamWOptions(config.learning_rate)
                                                     .betas(betas)
                                                     .weight_decay(config.weight_decay));
  }
  return std::make_unique<torch::optim::SGD>(parameters,
                                             torch::optim::SGDOptions(config.learning_rate)
                                                 .momentum(config.momentum)
                                                 .weight_decay(config.weight_decay));
}

}  // namespace

Task make_task(const TrainConfig& config) {
  config.validate();
  if (config.threads > 0) at::set_num_threads(config.threads);
  Task task;
  task.config = config;
  torch::manual_seed(config.seed);
  task.problem = make_problem(config);
  const auto rows = task.problem->rows(data::Split::kTrain);
  if (config.batch > rows) {
    throw UsageError(fmt::format("train.batch is {}, but {} holds only {} training {}",
                                 config.batch,
                                 config.data,
                                 rows,
                                 task.problem->unit()));
  }
  const auto steps_per_epoch = static_cast<double>(rows / config.batch);
  task.steps = config.steps > 0
                   ? config.steps
                   : std::max<int64_t>(1, std::llround(config.epochs * steps_per_epoch));
  task.optimizer = make_optimizer(config, task.model());
  return task;
}

}  // namespace kappascope::train
