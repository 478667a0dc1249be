// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <string>

namespace kappascope::nn {

/// RMS: x/√(mean(x²) + eps) over the last dimension (Zhang and Sennrich 2019). Layer: (x - mean)/
/// √(variance + eps) over it. Batch: the same over all dimensions but the last, in evaluation with
/// running means (momentum 0.1) of what training saw.
enum class NormKind { kRms, kLayer, kBatch };
NormKind parse_norm_kind(const std::string& name);  ///< rms, layer or batch; throws UsageError

struct NormOptions {
  explicit NormOptions(int64_t width) : width_(width) {}
  TORCH_ARG(int64_t, width);
  TORCH_ARG(NormKind, kind) = NormKind::kRms;
  /// Added to the mean square or the variance before the root.
  TORCH_ARG(double, eps) = 1e-6;
  /// Multiplies by 1 + weight, which starts at 0, as Gemma does; else by weight, which starts at 1.
  TORCH_ARG(bool, plus_one) = false;
  /// Adds a learnable shift, 0 at the start. Published models' layer and batch norms have it, their
  /// RMS norms do not.
  TORCH_ARG(bool, bias) = false;
};

/// Normalises, multiplies by weight and adds bias. Input and output [..., width]. An all-zero x
/// gives the bias under RMS. Parameters: `weight` [width], and where asked `bias` [width]; under
/// batch the buffers `running_mean` and `running_var` [width].
class NormImpl : public torch::nn::Cloneable<NormImpl> {
 public:
  explicit NormImpl(int64_t width) : NormImpl(NormOptions(width)) {}
  explicit NormImpl(const NormOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& x);

  NormOptions options;
  torch::Tensor weight, bias, running_mean, running_var;
};
TORCH_MODULE(Norm);

/// Of learnable numbers.
int64_t parameter_count(const NormOptions& options);

}  // namespace kappascope::nn
