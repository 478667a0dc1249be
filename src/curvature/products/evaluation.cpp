// SPDX-License-Identifier: Apache-2.0
#include "curvature/products/evaluation.h"

#include <fmt/format.h>
#include <torch/autograd.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "kappascope/core/require.h"

namespace kappascope::curvature {
namespace {

double roundoff_of(at::ScalarType type) {
  switch (type) {
    case torch::kDouble:
      return 0x1p-53;
    case torch::kFloat:
      return 0x1p-24;
    case torch::kHalf:
      return 0x1p-11;
    case torch::kBFloat16:
      return 0x1p-8;
    default:
      throw Error(fmt::format("no products in the type {}", toString(type)));
  }
}

bool is_half(const at::Tensor& tensor) {
  return tensor.scalar_type() == torch::kHalf || tensor.scalar_type() == torch::kBFloat16;
}

/// A product sums a few thousand terms in each layer; 16 units in the last place is what float32
/// products were measured to lose against double (3e-7 to 7e-7 relative).
constexpr double kProductRoundoffs = 16;

/// What a backward pass through a graph must reckon with.
struct GraphFacts {
  bool lacks_a_derivative = false;  ///< running some node throws
  double roundoff = 0;              ///< of the coarsest type of 16 bits on it (autocast); 0: none
};

GraphFacts facts_of(const std::vector<at::Tensor>& tensors) {
  GraphFacts facts;
  std::vector<torch::autograd::Node*> open;
  std::unordered_set<torch::autograd::Node*> seen;
  const auto visit = [&](torch::autograd::Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const auto& tensor : tensors)
    if (tensor.defined()) visit(tensor.grad_fn().get());
  while (!open.empty()) {
    const auto* node = open.back();
    open.pop_back();
    if (dynamic_cast<const torch::autograd::Error*>(node) != nullptr)
      facts.lacks_a_derivative = true;
    for (uint32_t i = 0; i < node->num_inputs(); ++i) {
      const auto type = node->input_metadata(i).dtype().toScalarType();
      if (type == torch::kHalf || type == torch::kBFloat16)
        facts.roundoff = std::max(facts.roundoff, roundoff_of(type));
    }
    for (const auto& edge : node->next_edges()) visit(edge.function.get());
  }
  return facts;
}

}  // namespace

void Evaluation::hold(const at::Tensor& value) {
  const double sum = value.detach().sum(torch::kDouble).item<double>();
  require(std::isfinite(sum), "the {} is not finite: no curvature at this point", what_);
  if (check_ && seen_ && *seen_ != sum) {
    throw Error(fmt::format(
        "the {} is not deterministic (two evaluations gave {:.9g} and {:.9g}): switch dropout off "
        "or freeze its masks, and use a fixed batch",
        what_,
        *seen_,
        sum));
  }
  seen_ = sum;
}

at::Tensor Evaluation::with_graph() {
  torch::AutoGradMode grad(true);
  auto value = function_();
  require(
      value.defined() && value.requires_grad(), "the {} does not depend on any parameter", what_);
  hold(value);
  return value;
}

void Evaluation::compare() {
  if (!check_) return;
  const torch::NoGradGuard no_grad;
  hold(function_());
}

bool Evaluation::evaluates_afresh() const {
  const auto value = function_();
  return !function_().is_same(value);
}

std::vector<at::Tensor> tensors_of(const NamedParameters& parameters) {
  require(!parameters.empty(), "a curvature operator needs at least one parameter");
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters) {
    require(tensor.defined() && tensor.is_floating_point(),
            "parameter {} does not hold real numbers",
            name);
    require(tensor.requires_grad(), "parameter {} does not require a gradient", name);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      require(!tensors[i].is_same(tensor),
              "parameter {} is the same tensor as {}; shared weights are one parameter",
              name,
              parameters[i].first);
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

at::TensorOptions vectors_of(const std::vector<at::Tensor>& parameters) {
  const bool wide = std::any_of(parameters.begin(), parameters.end(), [](const auto& parameter) {
    return parameter.scalar_type() == torch::kDouble;
  });
  return parameters[0].options().requires_grad(false).dtype(wide ? torch::kDouble : torch::kFloat);
}

double roundoff_of(const std::vector<at::Tensor>& parameters) {
  double coarsest = 0;
  for (const auto& parameter : parameters)
    coarsest = std::max(coarsest, roundoff_of(parameter.scalar_type()));
  return coarsest;
}

double graph_roundoff(const std::vector<at::Tensor>& tensors) {
  return facts_of(tensors).roundoff;
}

Roots roots_of(const std::vector<at::Tensor>& outputs,
               const std::vector<at::Tensor>& parameters,
               const at::Tensor& v) {
  Roots roots;
  if (std::any_of(outputs.begin(), outputs.end(), [](const auto& output) {
        return output.defined() && is_half(output);
      })) {
    const double largest = v.abs().max().template item<double>();
    if (largest > 0 && std::isfinite(largest)) roots.scale = std::exp2(-std::ilogb(largest));
  }
  int64_t begin = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto length = parameters[i].numel();
    if (outputs[i].defined() && outputs[i].requires_grad()) {
      auto part = v.narrow(0, begin, length).view(parameters[i].sizes());
      if (roots.scale != 1) part = part * roots.scale;
      roots.outputs.push_back(outputs[i]);
      roots.cotangents.push_back(part.to(outputs[i].device(), outputs[i].scalar_type()));
    }
    begin += length;
  }
  return roots;
}

at::Tensor pull_back(const Roots& roots,
                     const std::vector<at::Tensor>& parameters,
                     bool keep_graph) {
  const auto options = vectors_of(parameters);
  torch::autograd::variable_list parts(parameters.size());
  if (!roots.outputs.empty()) {
    parts = torch::autograd::grad(roots.outputs,
                                  parameters,
                                  roots.cotangents,
                                  keep_graph,
                                  /*create_graph=*/false,
                                  /*allow_unused=*/true);
  }
  std::vector<at::Tensor> flat;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    flat.push_back(parts[i].defined() ? parts[i].detach().to(options).reshape(-1)
                                      : torch::zeros({parameters[i].numel()}, options));
  }
  auto whole = torch::cat(flat);
  return roots.scale == 1 ? whole : whole / roots.scale;
}

ParameterOperator::ParameterOperator(Evaluation function, const NamedParameters& parameters)
    : function_(std::move(function)),
      parameters_(tensors_of(parameters)),
      roundoff_(roundoff_of(parameters_)),
      noise_(kProductRoundoffs * roundoff_) {
  function_.compare();
  for (const auto& parameter : parameters_) size_ += parameter.numel();
}

void ParameterOperator::decide(ProductKind asked,
                               const std::vector<at::Tensor>& gradients,
                               const std::function<void()>& one_product) {
  kind_ = asked == ProductKind::kAutomatic ? ProductKind::kGraphKept : asked;
  const auto graph = facts_of(gradients);
  roundoff_ = std::max(roundoff_, graph.roundoff);
  noise_ = kProductRoundoffs * roundoff_;
  if (asked == ProductKind::kFiniteDifference) {
    reason_ = "asked for";
  } else if (graph.lacks_a_derivative) {
    // A product costs two gradients, so it is tried only where the graph says that it may fail.
    try {
      one_product();
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::Error& error) {
      require(asked == ProductKind::kAutomatic,
              "the loss has no second derivative ({}), so products need finite differences",
              error.what_without_backtrace());
      kind_ = ProductKind::kFiniteDifference;
      reason_ = error.what_without_backtrace();
    }
  }
  require(kind_ == ProductKind::kGraphKept || function_.evaluates_afresh(),
          "products by {} ({}) evaluate the loss again, and it is one tensor that was built "
          "before: give a function",
          to_string(kind_),
          reason_.empty() ? "asked for" : reason_);
}

}  // namespace kappascope::curvature
