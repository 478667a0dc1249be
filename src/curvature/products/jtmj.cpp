// SPDX-License-Identifier: Apache-2.0
#include "curvature/products/jtmj.h"

#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <utility>

#include "core/require.h"
#include "kappascope/linalg/random.h"
#include "tensor/convert.h"

namespace kappascope::curvature {

JtmjOperator::JtmjOperator(const LossFunction& outputs,
                           std::string what,
                           const NamedParameters& parameters,
                           OutputMetric metric,
                           const OperatorOptions& options)
    : ParameterOperator(Evaluation(outputs, std::move(what), options), parameters),
      metric_(std::move(metric)) {
  const Undisturbed undisturbed;
  auto graph = build();
  rows_ = graph.outputs.size(0);
  decide(
      options.product, graph.pulled, [&] { (void)push(graph, torch::ones({size_}, vectors())); });
  settle([&] { return slope(graph.outputs, true); },
         [&] {
           torch::AutoGradMode grad(true);
           return slope(elsewhere(), false);
         });
  if (kind_ == ProductKind::kFiniteDifference) difference_along(graph.outputs);
  if (kind_ != ProductKind::kRecomputed) graph_ = std::move(graph);
  if (kind_ == ProductKind::kFiniteDifference) graph_.pulled.clear();
}

at::Tensor JtmjOperator::elsewhere() const {
  const auto values = function_.elsewhere();
  return values.dim() == 1 ? values.unsqueeze(1) : values;
}

at::Tensor JtmjOperator::evaluate() const {
  const auto values = function_.with_graph();
  return values.dim() == 1 ? values.unsqueeze(1) : values;
}

JtmjOperator::Graph JtmjOperator::build() const {
  torch::AutoGradMode grad(true);
  Graph graph;
  graph.outputs = evaluate();
  graph.dummy = torch::zeros_like(graph.outputs).requires_grad_();
  graph.pulled =
      torch::autograd::grad({graph.outputs}, parameters_, {graph.dummy}, true, true, true);
  bool used = false;
  for (const auto& part : graph.pulled) used |= part.defined();
  require(used, "the network's output does not depend on the chosen parameters");
  return graph;
}

at::Tensor JtmjOperator::push(const Graph& graph, const at::Tensor& v) const {
  const auto roots = roots_of(graph.pulled, parameters_, v);
  const auto pushed = torch::autograd::grad(roots.outputs,
                                            {graph.dummy},
                                            roots.cotangents,
                                            /*retain_graph=*/true,
                                            /*create_graph=*/false)[0];
  return pushed.detach().to(vectors()) / roots.scale;
}

at::Tensor JtmjOperator::pull(const at::Tensor& outputs,
                              const at::Tensor& u,
                              bool keep_graph) const {
  return pull_back(roots_of({outputs}, {outputs}, u.reshape(-1)), parameters_, keep_graph);
}

/// Of the sum of all outputs: Jᵀ1.
at::Tensor JtmjOperator::slope(const at::Tensor& outputs, bool keep_graph) const {
  return pull(outputs, torch::ones_like(outputs), keep_graph);
}

at::Tensor JtmjOperator::apply(const at::Tensor& v, const OutputMetric& metric) const {
  const Undisturbed undisturbed;
  const auto direction = v.detach().to(vectors());
  const auto jtmj = [&](const Graph& graph, const at::Tensor& pushed, bool keep_graph) {
    const auto values = graph.outputs.detach().to(vectors());
    return pull(graph.outputs, metric(pushed, values), keep_graph);
  };
  switch (kind_) {
    case ProductKind::kFiniteDifference:
      return jtmj(graph_, difference_->along(direction).to(vectors()), true);
    case ProductKind::kRecomputed: {
      const auto graph = build();
      return jtmj(graph, push(graph, direction), false);
    }
    default:
      return jtmj(graph_, push(graph_, direction), true);
  }
}

at::Tensor JtmjOperator::transposed(const at::Tensor& u) const {
  const Undisturbed undisturbed;
  if (kind_ == ProductKind::kRecomputed) return pull(evaluate(), u, false);
  return pull(graph_.outputs, u, true);
}

void JtmjOperator::difference_along(const at::Tensor& outputs) {
  std::vector<at::Tensor> directions = {
      tensor::from_vector(linalg::Random(0).normal_vector(size_)).to(vectors())};
  // Jᵀ of something lies close to the directions to which the outputs are most sensitive.
  const auto along = slope(outputs, true);
  require_displaceable(outputs, along);
  if (along.count_nonzero().item<int64_t>() > 0) directions.push_back(along);
  difference_.emplace(
      parameters_,
      [this] {
        const torch::NoGradGuard no_grad;
        return elsewhere();
      },
      roundoff_,
      directions);
  noise_ += difference_->noise();
}

}  // namespace kappascope::curvature
