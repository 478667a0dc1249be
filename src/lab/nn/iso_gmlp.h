// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include "kappascope/nn/tapped_linear.h"
#include "lab/nn/feed_forward.h"

namespace kappascope::nn {

struct IsoGmlpOptions {
  IsoGmlpOptions(int64_t width, int64_t hidden) : width_(width), hidden_(hidden) {}
  TORCH_ARG(int64_t, width);  ///< d_model
  /// Of the gated path. The paper names an expansion of 4/3 and a feed-forward width of four times
  /// d_model; they do not agree, so the width is the caller's.
  TORCH_ARG(int64_t, hidden);
  TORCH_ARG(bool, branch) = true;  ///< the isotropy branch; without it the layer is a GEGLU
  /// Of the branch; 0: hidden/8, which the paper found best ("Results", key findings).
  TORCH_ARG(int64_t, iso_width) = 0;
  TORCH_ARG(bool, layer_norm) = true;  ///< in the branch, with its own gain and bias
  TORCH_ARG(bool, orthogonal) = true;  ///< all projections start orthogonal
  /// Without the orthogonal start: normal numbers of its variance, so that start and scale can be
  /// told apart.
  TORCH_ARG(bool, scaled) = false;
  TORCH_ARG(double, temperature) = 1.0;  ///< t at the start
  TORCH_ARG(BiasPlacement, bias) = BiasPlacement::kNone;
  /// Probability of zeroing what enters the down-projection; the paper has none.
  TORCH_ARG(double, dropout) = 0.0;
};

/// Width of the branch that the layer really has; 0 without one.
int64_t iso_width(const IsoGmlpOptions& options);

/// Z = W_down((W_g x ⊙ GELU(W_gelu x)) ‖ LayerNorm(W_iso x)·σ(t) + b) ("Gated MLP with Isotropy
/// Maintenance", equations 1 to 3; b is ours). Input and output [..., width]. Parameters:
/// `gate_proj` (W_gelu), `up_proj` (W_g), `iso_proj`, `iso_norm`, the scalar `temperature`, and
/// `down_proj` [width, hidden + iso_width], whose tap sees both paths.
class IsoGmlpImpl : public torch::nn::Cloneable<IsoGmlpImpl>, public FeedForward {
 public:
  explicit IsoGmlpImpl(const IsoGmlpOptions& options);
  void reset() override;
  torch::Tensor forward(const torch::Tensor& x) override;
  /// Draws every projection anew, orthogonal; a model that draws all weights by a rule of its own
  /// calls this after it.
  void orthogonalise();
  /// Draws every projection anew, normal, with the variance of the entries of an orthogonal one:
  /// 1 over the larger side.
  void scale();

  IsoGmlpOptions options;
  torch::nn::Linear gate_proj{nullptr}, up_proj{nullptr};
  torch::nn::Linear iso_proj{nullptr};     ///< empty without the branch
  torch::nn::LayerNorm iso_norm{nullptr};  ///< empty without it
  torch::Tensor temperature;               ///< undefined without the branch
  TappedLinear down_proj{nullptr};
};
TORCH_MODULE(IsoGmlp);

}  // namespace kappascope::nn
