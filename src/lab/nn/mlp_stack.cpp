// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/mlp_stack.h"

#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include "core/require.h"

namespace kappascope::nn {

MlpStackImpl::MlpStackImpl(const MlpStackOptions& options_) : options(options_) {
  require(options.inputs() > 0 && options.outputs() > 0 && options.blocks() > 0,
          "an MLP stack needs at least one input, output and block, got {}, {} and {}",
          options.inputs(),
          options.outputs(),
          options.blocks());
  MlpStackImpl::reset();
}

void MlpStackImpl::reset() {
  const auto block = GatedMlpOptions(options.width(), options.hidden())
                         .gate(options.gate())
                         .bias(options.bias())
                         .dropout(options.dropout())
                         .dropout_placement(options.dropout_placement());
  require(options.width() > 0, "width must be at least 1, got {}", options.width());
  if (options.embedding())
    embed = register_module("embed", torch::nn::Linear(options.inputs(), options.width()));
  blocks = register_module("blocks", torch::nn::ModuleList());
  for (int64_t i = 0; i < options.blocks(); ++i) {
    const bool first = i == 0 && !options.embedding();
    blocks->push_back(GatedMlp(first ? GatedMlpOptions(block).inputs(options.inputs()) : block));
  }
  head = register_module("head", torch::nn::Linear(options.width(), options.outputs()));
}

torch::Tensor MlpStackImpl::forward(const torch::Tensor& x) {
  auto h = embed ? embed->forward(x) : x;
  bool at_width = static_cast<bool>(embed);
  for (const auto& module : *blocks) {
    const auto z = module->as<GatedMlp>()->forward(h);
    h = options.residual() && at_width ? h + z : z;
    at_width = true;
  }
  return head->forward(h);
}

}  // namespace kappascope::nn
