// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/spectrum/operators.h"

#include <fmt/format.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "kappascope/core/error.h"
#include "lab/train/preconditioner.h"

namespace kappascope::cli {

void check_operator(const std::string& kind) {
  static constexpr std::array<std::string_view, 5> kKinds = {
      "hessian", "preconditioned", "ggn", "fisher", "covariance"};
  if (std::ranges::find(kKinds, kind) == kKinds.end()) {
    throw UsageError(
        "--operator must be hessian, preconditioned, ggn, fisher or covariance, got '" + kind +
        "'");
  }
}

std::optional<curvature::Preconditioner> optimiser_view(
    const std::string& kind,
    const train::Task& task,
    const train::Checkpoint& checkpoint,
    double rate,
    const curvature::NamedParameters& parameters) {
  const bool wanted = kind == "preconditioned";
  const bool plain = task.config.optimizer == "sgd" && bounds_the_step(kind);
  if (!wanted && !plain) return std::nullopt;
  std::optional<curvature::Preconditioner> seen;
  if (std::isfinite(rate) && rate > 0) {
    if (wanted) train::load_optimizer(checkpoint, task.model(), *task.optimizer);
    for (auto& group : task.optimizer->param_groups()) group.options().set_lr(rate);
    seen = train::preconditioner(*task.optimizer, parameters);
  }
  if (wanted && !seen) {
    throw UsageError(
        fmt::format("--operator preconditioned needs an optimiser that has taken a step, and its "
                    "learning rate: {} after {} steps is not known well enough; choose a later "
                    "checkpoint with --step",
                    task.config.optimizer,
                    checkpoint.step));
  }
  return seen;
}

std::unique_ptr<curvature::CurvatureOperator> make_operator(
    const std::string& kind,
    const train::Task& task,
    const at::Tensor& rows,
    const curvature::NamedParameters& parameters,
    const at::Tensor& scale) {
  check_operator(kind);
  if (kind == "preconditioned") {
    auto hessian = curvature::hessian(curvature_loss(task, rows), parameters);
    if (!scale.defined()) return hessian;
    return curvature::scaled(std::shared_ptr(std::move(hessian)), scale);
  }
  if (kind == "hessian") return curvature::hessian(curvature_loss(task, rows), parameters);
  if (kind == "fisher")
    return curvature::empirical_fisher(curvature_losses(task, rows), parameters);
  if (kind == "covariance")
    return curvature::gradient_covariance(curvature_losses(task, rows), parameters);
  const auto loss = task.config.loss == "squared" ? curvature::OutputLoss::kSquared
                                                  : curvature::OutputLoss::kCrossEntropy;
  return curvature::gauss_newton(curvature_outputs(task, rows), loss, parameters);
}

bool bounds_the_step(const std::string& kind) {
  return kind == "hessian" || kind == "ggn";
}

}  // namespace kappascope::cli
