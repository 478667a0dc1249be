// SPDX-License-Identifier: Apache-2.0
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <memory>
#include <optional>
#include <utility>

#include "core/require.h"
#include "curvature/products/central_difference.h"
#include "curvature/products/evaluation.h"
#include "kappascope/linalg/random.h"
#include "tensor/convert.h"

namespace kappascope::curvature {
namespace {

class Hessian final : public ParameterOperator {
 public:
  Hessian(const LossFunction& loss,
          const NamedParameters& parameters,
          const OperatorOptions& options)
      : ParameterOperator(Evaluation(loss, "loss", options), parameters) {
    const Undisturbed undisturbed;
    const auto value = function_.with_graph();
    auto gradients = gradient_graph(value);
    decide(options.product, gradients, [&] {
      pull_back(roots_of(gradients, parameters_, torch::ones({size_}, vectors())),
                parameters_,
                /*keep_graph=*/true);
    });
    std::vector<at::Tensor> detached;
    detached.reserve(gradients.size());
    for (const auto& gradient : gradients)
      detached.push_back(gradient.defined() ? gradient.detach() : gradient);
    slope_ = tensor::flatten(detached, parameters_).to(vectors());
    settle([this] { return slope_; }, [this] { return evaluated_gradient(); });
    if (kind_ == ProductKind::kFiniteDifference) {
      require_displaceable(value, slope_);
      difference_along(slope_);
    }
    if (kind_ == ProductKind::kGraphKept) gradients_ = std::move(gradients);
  }

  [[nodiscard]] at::Tensor gradient() const override { return slope_; }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    const Undisturbed undisturbed;
    const auto direction = v.detach().to(vectors());
    switch (kind_) {
      case ProductKind::kFiniteDifference:
        return difference_->along(direction).to(vectors());
      case ProductKind::kRecomputed:
        return pull_back(roots_of(gradient_graph(function_.with_graph()), parameters_, direction),
                         parameters_,
                         false);
      default:
        return pull_back(roots_of(gradients_, parameters_, direction), parameters_, true);
    }
  }

 private:
  /// The gradient of each parameter with its graph, undefined where the loss does not depend on it.
  /// A loss that is linear in a parameter has a gradient without a graph.
  [[nodiscard]] std::vector<at::Tensor> gradient_graph(const at::Tensor& value) const {
    require(value.numel() == 1, "the loss must be a scalar, got {} values", value.numel());
    torch::AutoGradMode grad(true);
    auto gradients = torch::autograd::grad({value.reshape({})},
                                           parameters_,
                                           {},
                                           /*retain_graph=*/true,
                                           /*create_graph=*/true,
                                           /*allow_unused=*/true);
    bool used = false;
    for (const auto& gradient : gradients) used |= gradient.defined();
    require(used, "the loss does not depend on the chosen parameters");
    return gradients;
  }

  [[nodiscard]] at::Tensor evaluated_gradient() const {
    torch::AutoGradMode grad(true);
    const auto value = function_.elsewhere().reshape({});
    return pull_back({{value}, {torch::ones_like(value)}}, parameters_, /*keep_graph=*/false);
  }

  /// Along the gradient, which lies close to the directions of most curvature, and a random one.
  void difference_along(const at::Tensor& slope) {
    std::vector<at::Tensor> directions = {
        tensor::from_vector(linalg::Random(0).normal_vector(size_)).to(vectors())};
    if (slope.count_nonzero().item<int64_t>() > 0) directions.push_back(slope);
    difference_.emplace(
        parameters_, [this] { return evaluated_gradient(); }, roundoff_, directions);
    noise_ = difference_->noise();
  }

  at::Tensor slope_;  // [size]
  std::vector<at::Tensor> gradients_;
  std::optional<CentralDifference> difference_;
};

}  // namespace

std::unique_ptr<ParameterOperator> make_hessian(const LossFunction& loss,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options) {
  return std::make_unique<Hessian>(loss, parameters, options);
}

std::unique_ptr<CurvatureOperator> hessian(const LossFunction& loss,
                                           const NamedParameters& parameters,
                                           const OperatorOptions& options) {
  return std::make_unique<Hessian>(loss, parameters, options);
}

}  // namespace kappascope::curvature
