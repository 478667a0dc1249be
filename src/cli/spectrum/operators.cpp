// SPDX-License-Identifier: Apache-2.0
#include "cli/spectrum/operators.h"

#include "kappascope/core/error.h"

namespace kappascope::cli {

void check_operator(const std::string& kind) {
  if (kind != "hessian" && kind != "ggn" && kind != "fisher" && kind != "covariance") {
    throw UsageError("--operator must be hessian, ggn, fisher or covariance, got '" + kind + "'");
  }
}

std::unique_ptr<curvature::CurvatureOperator> make_operator(
    const std::string& kind,
    const train::Task& task,
    const at::Tensor& rows,
    const curvature::NamedParameters& parameters) {
  check_operator(kind);
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
