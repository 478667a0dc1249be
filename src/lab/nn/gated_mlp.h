// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <string>

#include "kappascope/nn/tapped_linear.h"
#include "lab/nn/feed_forward.h"

namespace kappascope::nn {

/// The function on the gate: silu(G), gelu(G), gelu(G) by its tanh approximation (Gemma), relu(G),
/// or G itself (Shazeer 2020).
enum class Gate { kSwiglu, kGeglu, kGegluTanh, kReglu, kBilinear };
/// What dropout acts on: U before the product, as the paper has it, or the product S. Both mask
/// the same numbers before b is added; they differ in rounding only.
enum class DropoutPlacement { kUp, kProduct };

Gate parse_gate(const std::string& name);                           ///< throws UsageError
DropoutPlacement parse_dropout_placement(const std::string& name);  ///< throws UsageError

struct GatedMlpOptions {
  GatedMlpOptions(int64_t width, int64_t hidden) : width_(width), hidden_(hidden) {}
  TORCH_ARG(int64_t, width);       ///< d_model
  TORCH_ARG(int64_t, hidden);      ///< d_ff
  TORCH_ARG(int64_t, inputs) = 0;  ///< of U and G; 0: width
  TORCH_ARG(Gate, gate) = Gate::kSwiglu;
  TORCH_ARG(BiasPlacement, bias) = BiasPlacement::kNone;
  /// Probability of *zeroing*; kept values are scaled by 1/(1-dropout) (LibTorch's convention).
  TORCH_ARG(double, dropout) = 0.0;
  TORCH_ARG(DropoutPlacement, dropout_placement) = DropoutPlacement::kUp;
  /// One matrix W_g over W_u, as Phi-3 keeps them; at one seed the same weights as two.
  TORCH_ARG(bool, fused) = false;
};

/// Z = (dropout(X W_u) ⊙ gate(X W_g) + b) W_d + c ("Post-gating bias", equations 1 to 4).
/// Input [..., inputs], output [..., width]. Parameters as Hugging Face names them: `gate_proj`,
/// `up_proj` or `gate_up_proj` [2·hidden, inputs], and `down_proj`.
class GatedMlpImpl : public torch::nn::Cloneable<GatedMlpImpl>, public FeedForward {
 public:
  explicit GatedMlpImpl(const GatedMlpOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& x) override;

  GatedMlpOptions options;
  torch::nn::Linear gate_proj{nullptr}, up_proj{nullptr};  ///< empty where fused
  torch::nn::Linear gate_up_proj{nullptr};                 ///< empty where not
  TappedLinear down_proj{nullptr};
};
TORCH_MODULE(GatedMlp);

}  // namespace kappascope::nn
