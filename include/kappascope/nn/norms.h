// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

namespace kappascope::nn {

struct RMSNormOptions {
  explicit RMSNormOptions(int64_t width) : width_(width) {}
  TORCH_ARG(int64_t, width);
  /// Added to the mean square before the root.
  TORCH_ARG(double, eps) = 1e-6;
  /// Multiplies by 1 + weight, which starts at 0, as Gemma does; else by weight, which starts at 1.
  TORCH_ARG(bool, plus_one) = false;
  /// Adds a learnable shift, 0 at the start, which RMS norms of published models do not have.
  TORCH_ARG(bool, bias) = false;
};

/// x/√(mean(x²) + eps) · weight + bias over the last dimension (Zhang and Sennrich 2019). Input and
/// output [..., width]. An all-zero x gives the bias. Parameters: `weight` [width], and where asked
/// `bias` [width].
class RMSNormImpl : public torch::nn::Cloneable<RMSNormImpl> {
 public:
  explicit RMSNormImpl(int64_t width) : RMSNormImpl(RMSNormOptions(width)) {}
  explicit RMSNormImpl(const RMSNormOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& x);

  RMSNormOptions options;
  torch::Tensor weight, bias;
};
TORCH_MODULE(RMSNorm);

}  // namespace kappascope::nn
