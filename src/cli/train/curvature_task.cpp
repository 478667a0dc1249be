// SPDX-License-Identifier: Apache-2.0
#include "cli/train/curvature_task.h"

#include <torch/types.h>

#include <algorithm>

#include "kappascope/core/error.h"
#include "kappascope/nn/evaluation_mode.h"

namespace kappascope::cli {
namespace {

template <typename Make>
curvature::LossFunction in_evaluation(const train::Task& task, Make make) {
  return [&problem = *task.problem, make] {
    const nn::EvaluationMode evaluation(problem.model());
    return make(problem);
  };
}

}  // namespace

at::Tensor first_rows(const train::Task& task, int64_t rows) {
  if (rows < 1) throw UsageError("the curvature needs at least one training row");
  return torch::arange(std::min(rows, task.problem->rows(data::Split::kTrain)), torch::kLong);
}

curvature::LossFunction curvature_outputs(const train::Task& task, const at::Tensor& rows) {
  return in_evaluation(
      task, [rows](train::Problem& problem) { return problem.outputs(data::Split::kTrain, rows); });
}

curvature::LossFunction curvature_losses(const train::Task& task, const at::Tensor& rows) {
  return in_evaluation(task, [rows](train::Problem& problem) {
    const auto terms = problem.losses(data::Split::kTrain, rows);
    return terms.dim() > 1 ? terms.flatten(1).mean(1) : terms;
  });
}

curvature::LossFunction curvature_loss(const train::Task& task, const at::Tensor& rows) {
  return [losses = curvature_losses(task, rows)] { return losses().mean(); };
}

}  // namespace kappascope::cli
