// SPDX-License-Identifier: Apache-2.0
#include "kappascope/nn/gated_mlp.h"

#include <torch/torch.h>

#include "kappascope/core/error.h"

namespace kappascope::nn {
namespace {

torch::Tensor apply_gate(Gate gate, const torch::Tensor& g) {
  switch (gate) {
    case Gate::kSwiglu:
      return torch::silu(g);
    case Gate::kGeglu:
      return torch::gelu(g);
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
  if (name == "reglu") return Gate::kReglu;
  if (name == "bilinear") return Gate::kBilinear;
  throw UsageError("unknown feed-forward layer '" + name +
                   "': use swiglu, geglu, reglu or bilinear");
}

BiasPlacement parse_bias_placement(const std::string& name) {
  if (name == "none") return BiasPlacement::kNone;
  if (name == "post-gating") return BiasPlacement::kPostGating;
  if (name == "output") return BiasPlacement::kOutput;
  if (name == "both") return BiasPlacement::kBoth;
  throw UsageError("unknown bias '" + name + "': use none, post-gating, output or both");
}

DropoutPlacement parse_dropout_placement(const std::string& name) {
  if (name == "up") return DropoutPlacement::kUp;
  if (name == "product") return DropoutPlacement::kProduct;
  throw UsageError("unknown dropout placement '" + name + "': use up or product");
}

GatedMlpImpl::GatedMlpImpl(const GatedMlpOptions& options_) : options(options_) {
  require(options.width() > 0 && options.hidden() > 0,
          "a gated MLP needs a width and a hidden width of at least 1, got ",
          options.width(),
          " and ",
          options.hidden());
  require(options.dropout() >= 0 && options.dropout() < 1,
          "dropout must be in [0, 1), got ",
          options.dropout());
  GatedMlpImpl::reset();
}

void GatedMlpImpl::reset() {
  const bool b =
      options.bias() == BiasPlacement::kPostGating || options.bias() == BiasPlacement::kBoth;
  const bool c = options.bias() == BiasPlacement::kOutput || options.bias() == BiasPlacement::kBoth;
  const auto plain = torch::nn::LinearOptions(options.width(), options.hidden()).bias(false);
  up = register_module("up", torch::nn::Linear(plain));
  gate = register_module("gate", torch::nn::Linear(plain));
  // The output bias starts at zero and is drawn from no generator, so that the arms of a
  // comparison start from the same weights.
  down = register_module("down",
                         TappedLinear(TappedLinearOptions(options.hidden(), options.width())
                                          .bias(false)
                                          .post_gating_bias(b)
                                          .dropout(options.dropout())));
  if (c) down->add_output_bias();
}

torch::Tensor GatedMlpImpl::forward(const torch::Tensor& x) {
  const double p = options.dropout();
  const bool drop = is_training() && p > 0;
  auto u = up->forward(x);
  const auto g = apply_gate(options.gate(), gate->forward(x));
  if (drop && options.dropout_placement() == DropoutPlacement::kUp) u = torch::dropout(u, p, true);
  auto phi = u * g;  // [..., d_ff]
  if (drop && options.dropout_placement() == DropoutPlacement::kProduct) {
    phi = torch::dropout(phi, p, true);
  }
  return down->forward(phi);
}

}  // namespace kappascope::nn
