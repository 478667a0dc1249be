// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <string>

#include "kappascope/nn/tapped_linear.h"

namespace kappascope::nn {

/// The function on the gate: silu(G), gelu(G), relu(G), or G itself (Shazeer 2020).
enum class Gate { kSwiglu, kGeglu, kReglu, kBilinear };
/// Where a gated layer has an additive freedom: nowhere, b before the down-projection (post-gating
/// bias), c after it (the plain control), or both.
enum class BiasPlacement { kNone, kPostGating, kOutput, kBoth };
/// What dropout acts on: U before the product, as the paper has it, or the product S. Both mask
/// the same numbers before b is added; they differ in rounding only.
enum class DropoutPlacement { kUp, kProduct };

Gate parse_gate(const std::string& name);                           ///< throws UsageError
BiasPlacement parse_bias_placement(const std::string& name);        ///< throws UsageError
DropoutPlacement parse_dropout_placement(const std::string& name);  ///< throws UsageError

struct GatedMlpOptions {
  GatedMlpOptions(int64_t width, int64_t hidden) : width_(width), hidden_(hidden) {}
  TORCH_ARG(int64_t, width);   ///< d_model
  TORCH_ARG(int64_t, hidden);  ///< d_ff
  TORCH_ARG(Gate, gate) = Gate::kSwiglu;
  TORCH_ARG(BiasPlacement, bias) = BiasPlacement::kNone;
  /// Probability of *zeroing*; kept values are scaled by 1/(1-dropout) (LibTorch's convention).
  TORCH_ARG(double, dropout) = 0.0;
  TORCH_ARG(DropoutPlacement, dropout_placement) = DropoutPlacement::kUp;
};

/// Z = (dropout(X W_u) ⊙ gate(X W_g) + b) W_d + c ("Post-gating bias", equations 1 to 4).
/// Input and output [..., width].
class GatedMlpImpl : public torch::nn::Cloneable<GatedMlpImpl> {
 public:
  explicit GatedMlpImpl(const GatedMlpOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& x);

  GatedMlpOptions options;
  torch::nn::Linear up{nullptr}, gate{nullptr};
  TappedLinear down{nullptr};
};
TORCH_MODULE(GatedMlp);

}  // namespace kappascope::nn
