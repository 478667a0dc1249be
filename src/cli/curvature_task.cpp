// SPDX-License-Identifier: Apache-2.0
#include "cli/curvature_task.h"

#include <torch/torch.h>

#include <algorithm>

#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

/// What the problem makes of its first training rows, in evaluation mode; the mode is restored.
template <typename Make>
curvature::LossFunction of_first_rows(train::Task& task, int64_t rows, Make make) {
  if (rows < 1) throw UsageError("the curvature needs at least one training row");
  auto& problem = *task.problem;
  const auto indices =
      torch::arange(std::min(rows, problem.rows(data::Split::kTrain)), torch::kLong);
  return [&problem, indices, make] {
    const bool was_training = problem.model().is_training();
    problem.model().eval();
    const auto made = make(problem, indices);
    problem.model().train(was_training);
    return made;
  };
}

}  // namespace

curvature::LossFunction curvature_outputs(train::Task& task, int64_t rows) {
  return of_first_rows(task, rows, [](train::Problem& problem, const at::Tensor& indices) {
    return problem.outputs(data::Split::kTrain, indices);
  });
}

curvature::LossFunction curvature_losses(train::Task& task, int64_t rows) {
  return of_first_rows(task, rows, [](train::Problem& problem, const at::Tensor& indices) {
    return problem.losses(data::Split::kTrain, indices);
  });
}

curvature::LossFunction curvature_loss(train::Task& task, int64_t rows) {
  return [losses = curvature_losses(task, rows)] { return losses().mean(); };
}

}  // namespace kappascope::cli
