// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "lab/nn/transformers/transformer_block.h"

namespace kappascope::nn {

/// Defaults are the paper's where it names a number ("Post-gating bias", section 4), and say so
/// where it does not.
struct VitVaeOptions {
  VitVaeOptions(int64_t height, int64_t image_width) : height_(height), image_width_(image_width) {}
  TORCH_ARG(int64_t, height);       ///< of the images, a multiple of `patch`
  TORCH_ARG(int64_t, image_width);  ///< likewise
  TORCH_ARG(int64_t, channels) = 3;
  TORCH_ARG(int64_t, patch) = 16;
  TORCH_ARG(int64_t, width) = 576;
  TORCH_ARG(int64_t, heads) = 12;
  TORCH_ARG(int64_t, encoder_blocks) = 8;
  TORCH_ARG(int64_t, decoder_blocks) = 8;
  /// d_ff; not named. 8/3 of the width spends what an ungated MLP of four times the width spends.
  TORCH_ARG(int64_t, hidden) = 1536;
  TORCH_ARG(int64_t, latent) = 64;  ///< numbers in the code of a patch; not named
  TORCH_ARG(Gate, gate) = Gate::kSwiglu;
  TORCH_ARG(BiasPlacement, bias) = BiasPlacement::kNone;
  /// Probability of zeroing, of U in the gated MLPs (equation 3) and, which is ours, of attention
  /// weights.
  TORCH_ARG(double, dropout) = 0.1;
  /// Deviation of the Gaussian noise on the codes in training; not named. A study sets it.
  TORCH_ARG(double, latent_noise) = 0.1;
  /// Weight of the penalty on the codes' length; not named.
  TORCH_ARG(double, length_weight) = 1e-3;
  /// Standard deviation of the initial weights of linear layers and positions; not named.
  TORCH_ARG(double, initial_deviation) = 0.02;
};

/// Of every block of both halves.
TransformerBlockOptions block_options(const VitVaeOptions& options);

/// An autoencoder of patches: codes of every patch, with noise in training, and images from them.
/// Blocks are pre-norm with LayerNorm (the paper names none), attention sees all patches, positions
/// are learnt. There is no Kullback-Leibler term: the paper's loss has none.
class VitVaeImpl : public torch::nn::Cloneable<VitVaeImpl> {
 public:
  explicit VitVaeImpl(const VitVaeOptions& options);
  void reset() override;

  /// images [batch, channels, height, image_width] to codes [batch, patches, latent], noiseless.
  torch::Tensor encode(const torch::Tensor& images);
  torch::Tensor decode(const torch::Tensor& codes);  ///< back, any real pixels
  /// decode(encode(images) + noise); the noise in training only.
  torch::Tensor forward(const torch::Tensor& images);
  /// RMSE(images, forward(images)) + length_weight · mean ‖code‖, the mean over batch and patches.
  /// No derivative where images are reproduced exactly or a code is zero.
  torch::Tensor loss(const torch::Tensor& images);

  VitVaeOptions options;
  torch::nn::Linear patch_embedding{nullptr}, to_code{nullptr};
  torch::nn::Linear from_code{nullptr}, to_pixels{nullptr};
  torch::Tensor encoder_positions, decoder_positions;  ///< [patches, width]
  torch::nn::ModuleList encoder{nullptr}, decoder{nullptr};
  Norm encoder_norm{nullptr}, decoder_norm{nullptr};

 private:
  torch::Tensor noisy(const torch::Tensor& codes) const;
};
TORCH_MODULE(VitVae);

}  // namespace kappascope::nn
