// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/norms.h"

#include <torch/types.h>

#include "core/require.h"

namespace kappascope::nn {

NormKind parse_norm_kind(const std::string& name) {
  if (name == "rms") return NormKind::kRms;
  if (name == "layer") return NormKind::kLayer;
  if (name == "batch") return NormKind::kBatch;
  throw UsageError("unknown norm '" + name + "': use rms, layer or batch");
}

NormImpl::NormImpl(const NormOptions& options_) : options(options_) {
  require(options.width() > 0, "a norm needs a width of at least 1, got {}", options.width());
  require(options.eps() >= 0, "a norm needs eps of at least 0, got {}", options.eps());
  NormImpl::reset();
}

void NormImpl::reset() {
  const auto width = options.width();
  weight = register_parameter("weight",
                              options.plus_one() ? torch::zeros({width}) : torch::ones({width}));
  if (options.bias()) bias = register_parameter("bias", torch::zeros({width}));
  if (options.kind() == NormKind::kBatch) {
    running_mean = register_buffer("running_mean", torch::zeros({width}));
    running_var = register_buffer("running_var", torch::ones({width}));
  }
}

torch::Tensor NormImpl::forward(const torch::Tensor& x) {
  const auto width = options.width();
  const auto gain = options.plus_one() ? 1 + weight : weight;
  switch (options.kind()) {
    case NormKind::kRms: {
      const auto root = torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + options.eps());
      const auto scaled = x * root * gain;
      return bias.defined() ? scaled + bias : scaled;
    }
    case NormKind::kLayer:
      return torch::layer_norm(x, {width}, gain, bias, options.eps());
    case NormKind::kBatch:
      return torch::batch_norm(x.reshape({-1, width}),
                               gain,
                               bias,
                               running_mean,
                               running_var,
                               is_training(),
                               /*momentum=*/0.1,
                               options.eps(),
                               /*cudnn_enabled=*/true)
          .view_as(x);
  }
  throw Error("unknown norm");
}

int64_t parameter_count(const NormOptions& options) {
  return options.width() * (options.bias() ? 2 : 1);
}

}  // namespace kappascope::nn
