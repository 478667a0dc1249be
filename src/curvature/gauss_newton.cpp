// SPDX-License-Identifier: Apache-2.0
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

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

OutputMetric output_hessian(LossOfOutputs loss) {
  // The same outputs come with every product where their graph is kept.
  struct Kept {
    at::Tensor outputs, at, slope;
  };
  const auto kept = std::make_shared<Kept>();
  return [loss = std::move(loss), kept](const at::Tensor& push, const at::Tensor& outputs) {
    const torch::AutoGradMode grad(true);
    if (!kept->outputs.defined() || !kept->outputs.is_alias_of(outputs)) {
      const auto at = outputs.detach().requires_grad_();
      const auto value = loss(at);
      require(value.defined() && value.numel() == 1, "the loss on the outputs must be a scalar");
      require(value.requires_grad(), "the loss on the outputs does not depend on them");
      *kept = {outputs, at, torch::autograd::grad({value.reshape({})}, {at}, {}, true, true)[0]};
    }
    const auto& slope = kept->slope;
    // Of a loss that is linear in the outputs.
    if (!slope.requires_grad()) return torch::zeros_like(push);
    return torch::autograd::grad({slope}, {kept->at}, {push.to(slope.options())}, true)[0].to(
        push.options());
  };
}

std::unique_ptr<JtmjOperator> make_gauss_newton(const LossFunction& outputs,
                                                OutputMetric metric,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options) {
  return std::make_unique<JtmjOperator>(
      with_dimensions(outputs, 2, "the Gauss-Newton matrix needs outputs of [rows, classes]"),
      "network's output",
      parameters,
      std::move(metric),
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
  return make_gauss_newton(outputs, output_hessian(loss), parameters, options);
}

std::unique_ptr<CurvatureOperator> gauss_newton(const LossFunction& outputs,
                                                const LossOfOutputs& loss,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options) {
  return make_gauss_newton(outputs, output_hessian(loss), parameters, options);
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
