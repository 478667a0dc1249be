// SPDX-License-Identifier: Apache-2.0
#include "kappascope/train/task.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>

#include "kappascope/core/error.h"

namespace kappascope::train {

Task make_task(const TrainConfig& config) {
  config.validate();
  Task task;
  task.config = config;
  task.train_set = data::load_idx(config.data, data::Split::kTrain);
  task.test_set = data::load_idx(config.data, data::Split::kTest);
  require(task.train_set.images.size(1) == task.test_set.images.size(1),
          "the training images have ",
          task.train_set.images.size(1),
          " pixels and the test images ",
          task.test_set.images.size(1),
          " (",
          config.data,
          ")");
  if (config.batch > task.train_set.size()) {
    throw UsageError(fmt::format("train.batch is {}, but {} holds only {} training images",
                                 config.batch,
                                 config.data,
                                 task.train_set.size()));
  }
  if (config.threads > 0) at::set_num_threads(config.threads);
  const auto steps_per_epoch = static_cast<double>(task.train_set.size() / config.batch);
  task.steps = config.steps > 0
                   ? config.steps
                   : std::max<int64_t>(1, std::llround(config.epochs * steps_per_epoch));

  torch::manual_seed(config.seed);
  task.model =
      nn::MlpStack(nn::MlpStackOptions(task.train_set.images.size(1),
                                       std::max(task.train_set.classes, task.test_set.classes))
                       .width(config.width)
                       .hidden(config.hidden)
                       .blocks(config.blocks)
                       .residual(config.residual)
                       .gate(nn::parse_gate(config.ffn))
                       .bias(nn::parse_bias_placement(config.bias))
                       .dropout(config.dropout)
                       .dropout_placement(nn::parse_dropout_placement(config.dropout_placement)));
  if (config.optimizer == "adam") {
    task.optimizer = std::make_unique<torch::optim::Adam>(
        task.model->parameters(),
        torch::optim::AdamOptions(config.learning_rate).weight_decay(config.weight_decay));
  } else {
    task.optimizer =
        std::make_unique<torch::optim::SGD>(task.model->parameters(),
                                            torch::optim::SGDOptions(config.learning_rate)
                                                .momentum(config.momentum)
                                                .weight_decay(config.weight_decay));
  }
  return task;
}

at::Tensor losses_of(const TrainConfig& config,
                     const at::Tensor& outputs,
                     const at::Tensor& labels) {
  if (config.loss == "squared") {
    // One term a sample (summed over the outputs), so that a gradient scales back by the batch.
    const auto targets = torch::one_hot(labels, outputs.size(-1)).to(outputs.dtype());
    return (outputs - targets).square().sum(-1).mul(0.5);
  }
  return torch::nn::functional::cross_entropy(
      outputs, labels, torch::nn::CrossEntropyLossOptions().reduction(torch::kNone));
}

at::Tensor loss_of(const TrainConfig& config, const at::Tensor& outputs, const at::Tensor& labels) {
  return losses_of(config, outputs, labels).mean();
}

Evaluation evaluate(Task& task, const data::ImageSet& set) {
  torch::NoGradGuard no_grad;
  const bool was_training = task.model->is_training();
  task.model->eval();
  constexpr int64_t kChunk = 2000;
  Evaluation result;
  for (int64_t begin = 0; begin < set.size(); begin += kChunk) {
    const auto count = std::min(kChunk, set.size() - begin);
    const auto labels = set.labels.narrow(0, begin, count);
    const auto outputs = task.model->forward(set.images.narrow(0, begin, count));
    result.loss +=
        loss_of(task.config, outputs, labels).item<double>() * static_cast<double>(count);
    result.accuracy += outputs.argmax(-1).eq(labels).sum().item<double>();
  }
  result.loss /= static_cast<double>(set.size());
  result.accuracy /= static_cast<double>(set.size());
  task.model->train(was_training);
  return result;
}

}  // namespace kappascope::train
