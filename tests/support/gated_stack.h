// SPDX-License-Identifier: Apache-2.0
// A stack of gated layers with tapped down-projections, as a user would write one.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "kappascope/nn/tapped_linear.h"

namespace kappascope::testing {

enum class Gate { kSwiglu, kGeglu, kBilinear };

struct GatedStackOptions {
  GatedStackOptions(int64_t inputs, int64_t outputs) : inputs_(inputs), outputs_(outputs) {}
  TORCH_ARG(int64_t, inputs);
  TORCH_ARG(int64_t, outputs);
  TORCH_ARG(int64_t, width) = 64;
  TORCH_ARG(int64_t, hidden) = 128;
  TORCH_ARG(int64_t, blocks) = 2;
  TORCH_ARG(Gate, gate) = Gate::kSwiglu;
  TORCH_ARG(bool, post_gating_bias) = false;
  TORCH_ARG(bool, output_bias) = false;
  TORCH_ARG(double, dropout) = 0.0;
};

class GatedBlockImpl : public torch::nn::Cloneable<GatedBlockImpl> {
 public:
  explicit GatedBlockImpl(const GatedStackOptions& options_) : options(options_) {
    GatedBlockImpl::reset();
  }
  void reset() override {
    const auto up = [&] {
      return torch::nn::Linear(
          torch::nn::LinearOptions(options.width(), options.hidden()).bias(false));
    };
    gate_proj = register_module("gate_proj", up());
    up_proj = register_module("up_proj", up());
    down_proj =
        register_module("down_proj",
                        nn::TappedLinear(nn::TappedLinearOptions(options.hidden(), options.width())
                                             .bias(false)
                                             .post_gating_bias(options.post_gating_bias())
                                             .dropout(options.dropout())));
    if (options.output_bias()) down_proj->add_output_bias();
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const auto g = gate_proj->forward(x);
    const auto u = torch::dropout(up_proj->forward(x), options.dropout(), is_training());
    switch (options.gate()) {
      case Gate::kSwiglu:
        return down_proj->forward(u * torch::silu(g));
      case Gate::kGeglu:
        return down_proj->forward(u * torch::gelu(g));
      case Gate::kBilinear:
        break;
    }
    return down_proj->forward(u * g);
  }

  GatedStackOptions options;
  torch::nn::Linear gate_proj{nullptr}, up_proj{nullptr};
  nn::TappedLinear down_proj{nullptr};
};
TORCH_MODULE(GatedBlock);

/// Input [rows, inputs], output [rows, outputs]: an affine map, x + block(x) so many times, and an
/// affine head.
class GatedStackImpl : public torch::nn::Cloneable<GatedStackImpl> {
 public:
  explicit GatedStackImpl(const GatedStackOptions& options_) : options(options_) {
    GatedStackImpl::reset();
  }
  void reset() override {
    embed = register_module("embed", torch::nn::Linear(options.inputs(), options.width()));
    blocks = register_module("blocks", torch::nn::ModuleList());
    for (int64_t i = 0; i < options.blocks(); ++i) blocks->push_back(GatedBlock(options));
    head = register_module("head", torch::nn::Linear(options.width(), options.outputs()));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto h = embed->forward(x);
    for (const auto& block : *blocks) h = h + block->as<GatedBlock>()->forward(h);
    return head->forward(h);
  }

  GatedStackOptions options;
  torch::nn::Linear embed{nullptr}, head{nullptr};
  torch::nn::ModuleList blocks{nullptr};
};
TORCH_MODULE(GatedStack);

}  // namespace kappascope::testing
