// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include <memory>
#include <utility>

#include "core/require.h"
#include "curvature/products/jtmj.h"

namespace kappascope::curvature {
namespace {

LossFunction with_dimensions(const LossFunction& function, int64_t dimensions, const char* rule) {
  return [function, dimensions, rule] {
    auto values = function();
    require(!values.defined() || values.dim() == dimensions,
            "{}, got {} dimensions",
            rule,
            values.dim());
    return values;
  };
}

}  // namespace

OutputMetric divided_by_rows() {
  return [](const at::Tensor& push, const at::Tensor&) {
    return push / static_cast<double>(push.size(0));
  };
}

OutputMetric centred_rows() {
  return [](const at::Tensor& push, const at::Tensor&) {
    return (push - push.mean()) / static_cast<double>(push.size(0));
  };
}

OutputMetric output_hessian(OutputLoss loss) {
  if (loss == OutputLoss::kSquared) return divided_by_rows();
  return [](const at::Tensor& push, const at::Tensor& outputs) {
    const auto p = torch::softmax(outputs, -1);
    return p * (push - (p * push).sum(-1, /*keepdim=*/true)) / static_cast<double>(push.size(0));
  };
}

std::unique_ptr<JtmjOperator> make_gauss_newton(const LossFunction& outputs,
                                                OutputLoss loss,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options) {
  return std::make_unique<JtmjOperator>(
      with_dimensions(outputs, 2, "the Gauss-Newton matrix needs outputs of [rows, classes]"),
      "network's output",
      parameters,
      output_hessian(loss),
      options);
}

std::unique_ptr<JtmjOperator> make_fisher(const LossFunction& losses,
                                          const NamedParameters& parameters,
                                          const OperatorOptions& options,
                                          OutputMetric metric) {
  return std::make_unique<JtmjOperator>(
      with_dimensions(losses, 1, "the Fisher matrix needs one loss a row, [rows]"),
      "vector of losses",
      parameters,
      std::move(metric),
      options);
}

std::unique_ptr<CurvatureOperator> gauss_newton(const LossFunction& outputs,
                                                OutputLoss loss,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options) {
  return make_gauss_newton(outputs, loss, parameters, options);
}

std::unique_ptr<CurvatureOperator> empirical_fisher(const LossFunction& losses,
                                                    const NamedParameters& parameters,
                                                    const OperatorOptions& options) {
  return make_fisher(losses, parameters, options);
}

std::unique_ptr<CurvatureOperator> gradient_covariance(const LossFunction& losses,
                                                       const NamedParameters& parameters,
                                                       const OperatorOptions& options) {
  return make_fisher(losses, parameters, options, centred_rows());
}

}  // namespace kappascope::curvature
