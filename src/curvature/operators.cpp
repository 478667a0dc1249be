// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/operators.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <utility>

#include "kappascope/core/error.h"
#include "kappascope/tensor/convert.h"

namespace kappascope::curvature {
namespace {

std::vector<at::Tensor> tensors_of(const NamedParameters& parameters) {
  require(!parameters.empty(), "a curvature operator needs at least one parameter");
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters) {
    require(tensor.requires_grad(), "parameter ", name, " does not require a gradient");
    tensors.push_back(tensor);
  }
  return tensors;
}

double noise_of(const at::Tensor& parameter) {
  // A product sums a few thousand terms in each layer; 16 units in the last place is what float32
  // products were measured to lose against double (3e-7 to 7e-7 relative).
  return parameter.scalar_type() == torch::kDouble ? 16 * 0x1p-53 : 16 * 0x1p-24;
}

// Evaluates twice when asked; the second value is the one whose graph is kept.
at::Tensor evaluate(const LossFunction& function,
                    const OperatorOptions& options,
                    const char* what) {
  torch::AutoGradMode grad(true);
  at::Tensor before;
  if (options.check_determinism) {
    torch::NoGradGuard no_grad;
    before = function().detach().clone();
  }
  auto value = function();
  require(
      value.defined() && value.requires_grad(), "the ", what, " does not depend on any parameter");
  require(value.isfinite().all().item<bool>(),
          "the ",
          what,
          " is not finite: no curvature at this point");
  if (before.defined() && !torch::equal(before, value.detach())) {
    throw Error(fmt::format(
        "the {} is not deterministic (two evaluations gave {:.9g} and {:.9g}): switch dropout off "
        "or freeze its masks, and use a fixed batch",
        what,
        before.sum().item<double>(),
        value.sum().item<double>()));
  }
  return value;
}

class Hessian final : public CurvatureOperator {
 public:
  Hessian(const LossFunction& loss,
          const NamedParameters& parameters,
          const OperatorOptions& options)
      : parameters_(tensors_of(parameters)) {
    const auto value = evaluate(loss, options, "loss");
    require(value.numel() == 1, "the loss must be a scalar, got ", value.numel(), " values");
    torch::AutoGradMode grad(true);
    const auto gradients = torch::autograd::grad({value.reshape({})},
                                                 parameters_,
                                                 {},
                                                 /*retain_graph=*/true,
                                                 /*create_graph=*/true,
                                                 /*allow_unused=*/true);
    bool used = false;
    for (const auto& gradient : gradients) used |= gradient.defined();
    require(used, "the loss does not depend on the chosen parameters");
    gradient_ = tensor::flatten(gradients, parameters_);
  }

  [[nodiscard]] int64_t size() const override { return gradient_.numel(); }
  [[nodiscard]] at::TensorOptions vectors() const override {
    return parameters_[0].options().requires_grad(false);
  }
  [[nodiscard]] double product_noise() const override { return noise_of(parameters_[0]); }

  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    // A loss linear in these parameters has a gradient without a graph: the Hessian is zero.
    if (!gradient_.requires_grad()) return torch::zeros_like(gradient_);
    torch::AutoGradMode grad(true);
    const auto products = torch::autograd::grad({gradient_},
                                                parameters_,
                                                {v.to(gradient_.device(), gradient_.scalar_type())},
                                                /*retain_graph=*/true,
                                                /*create_graph=*/false,
                                                /*allow_unused=*/true);
    return tensor::flatten(products, parameters_).detach();
  }

 private:
  std::vector<at::Tensor> parameters_;
  at::Tensor gradient_;  // [size], with its graph
};

// From J v to what Jᵀ is applied to; both [rows, classes].
using Middle = std::function<at::Tensor(const at::Tensor&)>;

// Jᵀ M J for the Jacobian J of outputs [rows, classes] and a symmetric M between.
class Sandwich final : public CurvatureOperator {
 public:
  Sandwich(at::Tensor outputs, const NamedParameters& parameters, Middle middle)
      : parameters_(tensors_of(parameters)),
        outputs_(std::move(outputs)),
        middle_(std::move(middle)) {
    torch::AutoGradMode grad(true);
    // Jᵀu is linear in u, so differentiating <Jᵀu, v> by u gives J v.
    dummy_ = torch::zeros_like(outputs_).requires_grad_();
    const auto pulled = torch::autograd::grad({outputs_}, parameters_, {dummy_}, true, true, true);
    bool used = false;
    for (const auto& part : pulled) used |= part.defined();
    require(used, "the network's output does not depend on the chosen parameters");
    pulled_ = tensor::flatten(pulled, parameters_);
  }

  [[nodiscard]] int64_t size() const override { return pulled_.numel(); }
  [[nodiscard]] at::TensorOptions vectors() const override {
    return parameters_[0].options().requires_grad(false);
  }
  [[nodiscard]] double product_noise() const override { return noise_of(parameters_[0]); }

  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    torch::AutoGradMode grad(true);
    const auto push =
        torch::autograd::grad(
            {pulled_}, {dummy_}, {v.to(pulled_.device(), pulled_.scalar_type())}, true, false)[0]
            .detach();
    const auto products =
        torch::autograd::grad({outputs_}, parameters_, {middle_(push)}, true, false, true);
    return tensor::flatten(products, parameters_).detach();
  }

 private:
  std::vector<at::Tensor> parameters_;
  at::Tensor outputs_, dummy_, pulled_;
  Middle middle_;
};

Middle divide_by(double rows) {
  return [rows](const at::Tensor& push) { return push / rows; };
}

// The losses as outputs of one class.
at::Tensor evaluate_losses(const LossFunction& losses, const OperatorOptions& options) {
  const auto values = evaluate(losses, options, "vector of losses");
  require(values.dim() == 1,
          "the Fisher matrix needs one loss a row, [rows], got ",
          values.dim(),
          " dimensions");
  return values.unsqueeze(1);
}

// Iterative glob: `star` is where the last * stood, tried again one character later on a mismatch.
bool matches(const std::string& name, const std::string& pattern) {
  std::size_t n = 0, p = 0, star = std::string::npos, mark = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++n, ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

NamedParameters select_parameters(const torch::nn::Module& model, const std::string& pattern) {
  NamedParameters selected;
  std::string names;
  for (const auto& item : model.named_parameters()) {
    names += (names.empty() ? "" : ", ") + item.key();
    if (matches(item.key(), pattern)) selected.emplace_back(item.key(), item.value());
  }
  require(!selected.empty(), "no parameter matches '", pattern, "'; there are: ", names);
  return selected;
}

std::unique_ptr<CurvatureOperator> hessian(const LossFunction& loss,
                                           const NamedParameters& parameters,
                                           const OperatorOptions& options) {
  return std::make_unique<Hessian>(loss, parameters, options);
}

std::unique_ptr<CurvatureOperator> gauss_newton(const LossFunction& outputs,
                                                OutputLoss loss,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options) {
  const auto values = evaluate(outputs, options, "network's output");
  require(values.dim() == 2,
          "the Gauss-Newton matrix needs outputs of [rows, classes], got ",
          values.dim(),
          " dimensions");
  const auto rows = static_cast<double>(values.size(0));
  if (loss == OutputLoss::kSquared) {
    return std::make_unique<Sandwich>(values, parameters, divide_by(rows));
  }
  const auto p = torch::softmax(values.detach(), -1);
  return std::make_unique<Sandwich>(values, parameters, [rows, p](const at::Tensor& push) {
    return p * (push - (p * push).sum(-1, /*keepdim=*/true)) / rows;
  });
}

std::unique_ptr<CurvatureOperator> empirical_fisher(const LossFunction& losses,
                                                    const NamedParameters& parameters,
                                                    const OperatorOptions& options) {
  const auto values = evaluate_losses(losses, options);
  const auto rows = static_cast<double>(values.size(0));
  return std::make_unique<Sandwich>(values, parameters, divide_by(rows));
}

std::unique_ptr<CurvatureOperator> gradient_covariance(const LossFunction& losses,
                                                       const NamedParameters& parameters,
                                                       const OperatorOptions& options) {
  const auto values = evaluate_losses(losses, options);
  const auto rows = static_cast<double>(values.size(0));
  return std::make_unique<Sandwich>(
      values, parameters, [rows](const at::Tensor& push) { return (push - push.mean()) / rows; });
}

linalg::SymmetricOperator as_linear(const CurvatureOperator& op) {
  linalg::SymmetricOperator linear;
  linear.size = op.size();
  linear.product_noise = op.product_noise();
  linear.apply = [&op](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
    y = tensor::to_vector(op.apply(tensor::from_vector(x)));
  };
  return linear;
}

}  // namespace kappascope::curvature
