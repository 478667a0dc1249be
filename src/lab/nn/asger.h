// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "kappascope/nn/tapped_linear.h"
#include "lab/nn/feed_forward.h"

namespace kappascope::nn {

struct AsgerOptions {
  AsgerOptions(int64_t width, int64_t hidden) : width_(width), hidden_(hidden) {}
  TORCH_ARG(int64_t, width);  ///< d_model
  /// d_ff; with `balanced`, that of the gated MLP whose parameters may be spent.
  TORCH_ARG(int64_t, hidden);
  /// The gate reaches from -α to 1 + α; at least 0 ("Implementation details").
  TORCH_ARG(double, alpha) = 0.5;
  /// Slope; positive.
  TORCH_ARG(double, beta) = 1.0;
  /// α as exp of a parameter that starts at log α, so that it stays positive; needs α > 0.
  TORCH_ARG(bool, learn_alpha) = false;
  /// β likewise, from log β.
  TORCH_ARG(bool, learn_beta) = false;
  /// S(u) = SiLU(W_s u) ⊙ (V_s u); else S(u) = u, which leaves a GLU with the wider gate.
  TORCH_ARG(bool, spatial) = true;
  /// Takes the largest d_ff with no more weights than a gated MLP of `hidden` has. The printed
  /// shapes alone do not keep the count that the paper says they keep.
  TORCH_ARG(bool, balanced) = false;
  TORCH_ARG(BiasPlacement, bias) = BiasPlacement::kNone;
  /// Probability of zeroing what enters the down-projection; the paper has none.
  TORCH_ARG(double, dropout) = 0.0;
};

/// d_ff that the layer really has. With the spatial part a layer holds 3·d·f + 2·f² weights.
int64_t asger_hidden(const AsgerOptions& options);

/// Z = (G(W_g x) ⊙ S(W_u x) + b) W_d with G(g) = σ(βg)(1 + 2α) - α ("Revisiting Adaptive Spatial
/// Gating", equations 1 to 3; b is ours). Equation 2 acts on each token by itself, and so do we.
/// Input and output [..., width]. Parameters: `gate_proj`, `up_proj`, where spatial
/// `spatial_gate_proj` (W_s) and `spatial_up_proj` (V_s), both [f, f], `down_proj`, and where asked
/// `log_alpha` and `log_beta`, scalars.
class AsgerImpl : public torch::nn::Cloneable<AsgerImpl>, public FeedForward {
 public:
  explicit AsgerImpl(const AsgerOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& x) override;

  AsgerOptions options;
  torch::nn::Linear gate_proj{nullptr}, up_proj{nullptr};
  torch::nn::Linear spatial_gate_proj{nullptr}, spatial_up_proj{nullptr};  ///< empty if not spatial
  TappedLinear down_proj{nullptr};
  torch::Tensor log_alpha, log_beta;  ///< undefined unless learnt
};
TORCH_MODULE(Asger);

}  // namespace kappascope::nn
