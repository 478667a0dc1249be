// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/gated_mlp.h"

#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include "core/require.h"
#include "kappascope/core/error.h"
#include "lab/nn/down_projection.h"

namespace kappascope::nn {
namespace {

torch::Tensor apply_gate(Gate gate, const torch::Tensor& g) {
  switch (gate) {
    case Gate::kSwiglu:
      return torch::silu(g);
    case Gate::kGeglu:
      return torch::gelu(g);
    case Gate::kGegluTanh:
      return torch::gelu(g, "tanh");
    case Gate::kReglu:
      return torch::relu(g);
    case Gate::kBilinear:
      return g;
  }
  throw Error("unknown gate");
}

}  // namespace

Gate parse_gate(const std::string& name) {
  if (name == "swiglu") return Gate::kSwiglu;
  if (name == "geglu") return Gate::kGeglu;
  if (name == "geglu-tanh") return Gate::kGegluTanh;
  if (name == "reglu") return Gate::kReglu;
  if (name == "bilinear") return Gate::kBilinear;
  throw UsageError("unknown feed-forward layer '" + name +
                   "': use swiglu, geglu, geglu-tanh, reglu or bilinear");
}

DropoutPlacement parse_dropout_placement(const std::string& name) {
  if (name == "up") return DropoutPlacement::kUp;
  if (name == "product") return DropoutPlacement::kProduct;
  throw UsageError("unknown dropout placement '" + name + "': use up or product");
}

GatedMlpImpl::GatedMlpImpl(const GatedMlpOptions& options_) : options(options_) {
  require(options.inputs() >= 0, "a gated MLP cannot have {} inputs", options.inputs());
  check_feed_forward("a gated MLP", options.width(), options.hidden(), options.dropout());
  GatedMlpImpl::reset();
}

void GatedMlpImpl::reset() {
  const auto inputs = options.inputs() > 0 ? options.inputs() : options.width();
  const auto plain = [&](int64_t hidden) {
    return torch::nn::Linear(torch::nn::LinearOptions(inputs, hidden).bias(false));
  };
  if (options.fused()) {
    gate_up_proj = register_module("gate_up_proj", plain(2 * options.hidden()));
  } else {
    gate_proj = register_module("gate_proj", plain(options.hidden()));
    up_proj = register_module("up_proj", plain(options.hidden()));
  }
  down_proj = register_module(
      "down_proj",
      down_projection(options.hidden(), options.width(), options.bias(), options.dropout()));
}

torch::Tensor GatedMlpImpl::forward(const torch::Tensor& x) {
  const double p = options.dropout();
  const bool drop = is_training() && p > 0;
  torch::Tensor g, u;
  if (options.fused()) {
    const auto halves = gate_up_proj->forward(x).chunk(2, -1);
    g = halves[0];
    u = halves[1];
  } else {
    g = gate_proj->forward(x);
    u = up_proj->forward(x);
  }
  if (drop && options.dropout_placement() == DropoutPlacement::kUp) u = torch::dropout(u, p, true);
  down_proj->show_gates(g);
  auto phi = u * apply_gate(options.gate(), g);  // [..., d_ff]
  if (drop && options.dropout_placement() == DropoutPlacement::kProduct) {
    phi = torch::dropout(phi, p, true);
  }
  return down_proj->forward(phi);
}

}  // namespace kappascope::nn
