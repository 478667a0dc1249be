// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "lab/nn/gated_mlp.h"

namespace kappascope::nn {

struct MlpStackOptions {
  MlpStackOptions(int64_t inputs, int64_t outputs) : inputs_(inputs), outputs_(outputs) {}
  TORCH_ARG(int64_t, inputs);
  TORCH_ARG(int64_t, outputs);
  TORCH_ARG(int64_t, width) = 64;
  TORCH_ARG(int64_t, hidden) = 128;
  TORCH_ARG(int64_t, blocks) = 2;
  /// x + f(x) when true, f(x) when false. The first layer of a stack without embedding has no
  /// residual path.
  TORCH_ARG(bool, residual) = true;
  /// An affine map from the inputs to the width first; false: the first gated layer is that map.
  TORCH_ARG(bool, embedding) = true;
  TORCH_ARG(Gate, gate) = Gate::kSwiglu;
  TORCH_ARG(BiasPlacement, bias) = BiasPlacement::kNone;
  TORCH_ARG(double, dropout) = 0.0;
  TORCH_ARG(DropoutPlacement, dropout_placement) = DropoutPlacement::kUp;
};

/// Stacked gated MLPs as in section 4.3 of "Post-gating bias": an affine embedding (or none: the
/// document does not say), `blocks` gated layers, an affine head. Input [batch, inputs], output
/// [batch, outputs].
class MlpStackImpl : public torch::nn::Cloneable<MlpStackImpl> {
 public:
  explicit MlpStackImpl(const MlpStackOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& x);

  MlpStackOptions options;
  torch::nn::Linear embed{nullptr};  ///< empty without embedding
  torch::nn::Linear head{nullptr};
  torch::nn::ModuleList blocks{nullptr};
};
TORCH_MODULE(MlpStack);

}  // namespace kappascope::nn
