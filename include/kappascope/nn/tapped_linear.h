// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <string>
#include <utility>
#include <vector>

#include "kappascope/nn/tap.h"

namespace kappascope::nn {

/// A drop-in for torch::nn::LinearOptions with the one thing more that a gated layer may have.
struct TappedLinearOptions {
  TappedLinearOptions(int64_t in_features, int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  TORCH_ARG(int64_t, in_features);
  TORCH_ARG(int64_t, out_features);
  /// Adds a learnable bias to the output, as torch::nn::Linear does.
  TORCH_ARG(bool, bias) = true;
  /// Adds a learnable b to the *input*: Z = (phi + b) Wᵀ (post-gating bias, equation 3), zero at
  /// the start.
  TORCH_ARG(bool, post_gating_bias) = false;
  /// The probability with which *you* zero features before they come here (inverted dropout). The
  /// layer drops nothing itself; Lemma 2 needs the number.
  TORCH_ARG(double, dropout) = 0.0;
  /// How many of the features, the last, *you* make by a branch beside the gated path (IsoGMLP).
  TORCH_ARG(int64_t, branch) = 0;
};

/// A linear layer that can be watched: put it where the down-projection of a gated layer stands.
/// Input [..., in], output [..., out]. Parameters, in this order: `weight` [out, in], and where
/// asked `post_gating_bias` [in] and `bias` [out]. Weights start as torch::nn::Linear's do.
class TappedLinearImpl : public torch::nn::Cloneable<TappedLinearImpl> {
 public:
  TappedLinearImpl(int64_t in_features, int64_t out_features)
      : TappedLinearImpl(TappedLinearOptions(in_features, out_features)) {}
  explicit TappedLinearImpl(const TappedLinearOptions& options);

  void reset() override;
  torch::Tensor forward(const torch::Tensor& features);
  /// Adds an output bias that starts at zero and draws no random number: arms of a comparison then
  /// share every other weight. Only for a layer made without `bias`.
  void add_output_bias();

  TappedLinearOptions options;
  torch::Tensor weight, bias, post_gating_bias;
  Tap tap;
};
TORCH_MODULE(TappedLinear);

/// Every TappedLinear of `module` with its dotted name, in the order of registration; `module`
/// itself counts, under the name "down". The pointers live as long as the module.
std::vector<std::pair<std::string, TappedLinearImpl*>> find_tapped(torch::nn::Module& module);

}  // namespace kappascope::nn
