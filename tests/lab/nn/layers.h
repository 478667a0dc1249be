// SPDX-License-Identifier: Apache-2.0
// What the tests of layers share.
#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace kappascope::testing {

constexpr int64_t kWidth = 4, kHidden = 9;

/// In double, every parameter random.
template <typename Layer>
void randomise(Layer& layer) {
  layer->to(torch::kDouble);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : layer->parameters()) parameter.normal_(0.0, 0.8);
}

inline at::Tensor times(const torch::nn::Linear& layer, const at::Tensor& x) {
  return x.matmul(layer->weight.t());
}

inline at::Tensor input() {
  return torch::randn({3, 5, kWidth}, torch::kDouble);
}

inline double gap(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace kappascope::testing
