// SPDX-License-Identifier: Apache-2.0
#include "lab/train/problems/problem.h"

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "lab/nn/evaluation_mode.h"
#include "lab/train/device.h"
#include "lab/train/problems/problems.h"

namespace kappascope::train {

at::Tensor Problem::mean_loss(data::Split split,
                              const at::Tensor& indices,
                              std::optional<at::ScalarType> type) {
  return losses(split, indices).mean(type);
}

namespace {

std::unique_ptr<Problem> make_on_host(const TrainConfig& config) {
  if (config.kind == "mlp") return make_classification(config);
  if (config.kind == "language") return make_language(config);
  if (config.kind == "vit-vae") return make_autoencoder(config);
  throw UsageError("model.kind must be mlp, language or vit-vae, got '" + config.kind + "'");
}

}  // namespace

std::unique_ptr<Problem> make_problem(const TrainConfig& config) {
  const auto device = device_named(config.device);
  auto problem = make_on_host(config);
  // Weights are drawn on the host, so that a seed means the same on every device.
  if (!device.is_cpu()) problem->model().to(device);
  return problem;
}

double test_loss(Problem& problem, int64_t rows, int64_t chunk) {
  const torch::NoGradGuard no_grad;
  const nn::EvaluationMode evaluation(problem.model());
  double sum = 0;
  for (int64_t begin = 0; begin < rows; begin += chunk) {
    const auto count = std::min(chunk, rows - begin);
    const auto indices = torch::arange(begin, begin + count, torch::kLong);
    const auto mean = problem.mean_loss(data::Split::kTest, indices, torch::kDouble);
    sum += mean.item<double>() * static_cast<double>(count);
  }
  return sum / static_cast<double>(rows);
}

}  // namespace kappascope::train
