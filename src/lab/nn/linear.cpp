// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/linear.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <cmath>

namespace kappascope::nn {

torch::nn::Linear linear(int64_t in, int64_t out, bool bias) {
  auto generator = at::globalContext().defaultGenerator(torch::kCPU);
  const auto before = generator.get_state();
  torch::nn::Linear layer(torch::nn::LinearOptions(in, out).bias(bias));
  if (!bias) return layer;
  // The bias was drawn after the weight: draw the weight again and nothing after it.
  generator.set_state(before);
  torch::nn::init::kaiming_uniform_(layer->weight, std::sqrt(5.0));
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

}  // namespace kappascope::nn
