// SPDX-License-Identifier: Apache-2.0
#include "kappascope/nn/norms.h"

#include <torch/torch.h>

#include "kappascope/core/error.h"

namespace kappascope::nn {

RMSNormImpl::RMSNormImpl(const RMSNormOptions& options_) : options(options_) {
  require(options.width() > 0, "RMSNorm needs a width of at least 1, got ", options.width());
  require(options.eps() >= 0, "RMSNorm needs eps of at least 0, got ", options.eps());
  RMSNormImpl::reset();
}

void RMSNormImpl::reset() {
  weight = register_parameter(
      "weight",
      options.plus_one() ? torch::zeros({options.width()}) : torch::ones({options.width()}));
  if (options.bias()) bias = register_parameter("bias", torch::zeros({options.width()}));
}

torch::Tensor RMSNormImpl::forward(const torch::Tensor& x) {
  const auto normalised = x * torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + options.eps());
  const auto scaled = normalised * (options.plus_one() ? 1 + weight : weight);
  return bias.defined() ? scaled + bias : scaled;
}

}  // namespace kappascope::nn
