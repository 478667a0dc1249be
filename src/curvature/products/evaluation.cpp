// SPDX-License-Identifier: Apache-2.0
#include "curvature/products/evaluation.h"

#include <ATen/SequenceNumber.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/autograd.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "core/require.h"
#include "curvature/products/response.h"

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

/// What a backward pass through a graph must reckon with.
struct GraphFacts {
  bool lacks_a_derivative = false;  ///< running some node throws
  double roundoff = 0;              ///< of the coarsest type of 16 bits on it (autocast); 0: none
};

using torch::autograd::Node;

/// Shows `visit` each node that a backward pass from these would reach, until it returns false.
template <typename Visit>
void walk(std::vector<Node*> open, const Visit& visit) {
  std::unordered_set<Node*> seen(open.begin(), open.end());
  while (!open.empty()) {
    auto* node = open.back();
    open.pop_back();
    if (!visit(node)) return;
    for (const auto& edge : node->next_edges())
      if (edge.function && seen.insert(edge.function.get()).second)
        open.push_back(edge.function.get());
  }
}

GraphFacts facts_of(const std::vector<at::Tensor>& tensors) {
  GraphFacts facts;
  std::vector<Node*> roots;
  for (const auto& tensor : tensors)
    if (tensor.defined() && tensor.grad_fn()) roots.push_back(tensor.grad_fn().get());
  walk(std::move(roots), [&](Node* node) {
    if (dynamic_cast<const torch::autograd::Error*>(node) != nullptr)
      facts.lacks_a_derivative = true;
    for (uint32_t i = 0; i < node->num_inputs(); ++i) {
      const auto type = node->input_metadata(i).dtype().toScalarType();
      if (type == torch::kHalf || type == torch::kBFloat16)
        facts.roundoff = std::max(facts.roundoff, roundoff_of(type));
    }
    return true;
  });
  return facts;
}

/// Whether this thread made the node before its count of them was `began`. Leaves are of no time.
bool is_older(const Node* node, uint64_t began) {
  return node->sequence_nr() < began && node->thread_id() == at::RecordFunction::currentThreadId();
}

}  // namespace

Undisturbed::Undisturbed() {
  at::autocast::clear_cache();
}

Undisturbed::~Undisturbed() {
  at::autocast::clear_cache();
}

void Evaluation::require_within(double share, double sum) const {
  // Not a number is within nothing.
  if (std::abs(sum - *seen_) <= share * std::abs(*seen_)) return;
  throw Error(
      fmt::format("the {} is not deterministic (two evaluations gave {:.9g} and {:.9g}): switch "
                  "dropout off or freeze its masks, and use a fixed batch",
                  what_,
                  *seen_,
                  sum));
}

void Evaluation::hold(const at::Tensor& value) {
  const double sum = value.detach().sum(torch::kDouble).item<double>();
  require(std::isfinite(sum), "the {} is not finite: no curvature at this point", what_);
  if (!check_) return;
  if (!seen_) {
    seen_ = sum;
  } else if (*seen_ != sum) {
    if (share_) require_within(*share_, sum);
    other_ = sum;
  }
}

bool Evaluation::settle(double share) {
  share_ = share;
  if (other_) require_within(share, *other_);
  return other_.has_value();
}

at::Tensor Evaluation::elsewhere() const {
  if (before_) before_();
  const Undisturbed undisturbed;
  return function_();
}

at::Tensor Evaluation::with_graph() {
  torch::AutoGradMode grad(true);
  began_ = at::sequence_number::peek();
  auto value = elsewhere();
  require(
      value.defined() && value.requires_grad(), "the {} does not depend on any parameter", what_);
  afresh_ = value.grad_fn() && !is_older(value.grad_fn().get(), began_);
  hold(value);
  return value;
}

void Evaluation::compare() {
  if (!check_) return;
  const torch::NoGradGuard no_grad;
  hold(elsewhere());
}

void Evaluation::require_no_older_part(const at::Tensor& value,
                                       const NamedParameters& parameters) const {
  std::vector<std::pair<Node*, std::string>> ends;
  for (const auto& [name, parameter] : parameters)
    ends.emplace_back(torch::autograd::impl::gradient_edge(parameter).function.get(), name);
  const auto end_at = [&](const Node* node) {
    return std::find_if(
        ends.begin(), ends.end(), [&](const auto& end) { return end.first == node; });
  };
  std::vector<Node*> older;
  walk({value.grad_fn().get()}, [&](Node* node) {
    if (end_at(node) == ends.end() && is_older(node, began_)) older.push_back(node);
    return true;
  });
  walk(std::move(older), [&](Node* node) {
    const auto end = end_at(node);
    require(
        end == ends.end(),
        "the {} uses something that was computed from parameter {} before and kept (a cast, "
        "parametrize.cached(), a copy), where differences displace the parameter alone: compute "
        "it inside the loss, or leave this parameter out",
        what_,
        end == ends.end() ? "" : end->second);
    return true;
  });
}

double squared_length(const at::Tensor& tensor) {
  return tensor.to(torch::kDouble).square().sum().item<double>();
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
      named_(parameters),
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

void ParameterOperator::settle(const std::function<at::Tensor()>& slope,
                               const std::function<at::Tensor()>& another) {
  if (!function_.settle(noise_)) return;
  const auto first = slope();
  const double apart = std::sqrt(squared_length(another() - first) / squared_length(first));
  // Sums of many terms in another order each time, as atomics of a device make them, differ by more
  // than one rounding: what is seen is then the noise.
  constexpr double kOtherOrder = 16;
  require(
      apart <= kOtherOrder * noise_,
      "the loss is not deterministic (two gradients differ by {:.2g} of their length, and "
      "rounding explains {:.2g}): switch dropout off or freeze its masks, and use a fixed batch",
      apart,
      kOtherOrder * noise_);
  noise_ = std::max(noise_, 2 * apart);
}

void ParameterOperator::require_displaceable(const at::Tensor& value,
                                             const at::Tensor& slope) const {
  function_.require_no_older_part(value, named_);
  require_response(
      {.parameters = named_,
       .slope = slope,
       .value = [&] { return function_.elsewhere().detach().sum(torch::kDouble).item<double>(); },
       .value_roundoff = roundoff_of({value}),
       .roundoff = roundoff_});
}

}  // namespace kappascope::curvature
