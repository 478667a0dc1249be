// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kappascope::nn {

/// What passes a tapped down-projection in one forward pass.
struct TapView {
  at::Tensor features;  ///< phi: [..., d_ff], after the gate and the dropout mask, before b
  at::Tensor bias;      ///< b: [d_ff], the post-gating bias; undefined where the layer has none
  double dropout = 0;   ///< probability with which features were zeroed in this pass
  at::Tensor output;    ///< Z: [..., d_model], part of the graph when gradients are recorded
  at::Tensor weight;    ///< W_d: [d_model, d_ff]
  int64_t branch = 0;   ///< so many features, the last, come of a branch beside the gated path
  at::Tensor gate_inputs = {};  ///< [..., d_ff], as show_gates() was given; undefined: it was not
};

/// A place in the forward pass where a value can be seen. LibTorch modules have no forward hooks;
/// this is ours. Costs one branch while nobody listens. A listener must not change the values, the
/// random state, or the graph.
class Tap {
 public:
  using Listener = std::function<void(const TapView&)>;

  Tap() = default;
  /// A copy of a layer has a tap of its own that nobody listens to.
  Tap(const Tap& /*other*/) {}
  Tap& operator=(const Tap& /*other*/) { return *this; }
  ~Tap() = default;

  void listen(Listener listener) { listener_ = std::move(listener); }
  void silence() { listener_ = nullptr; }
  [[nodiscard]] bool active() const { return static_cast<bool>(listener_); }
  void operator()(const TapView& view) const {
    if (listener_) listener_(view);
  }

 private:
  Listener listener_;
};

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
  /// Holds this b as a buffer, which nobody learns: for explicit centring, b = -(mean of phi), with
  /// the means of gather_mean(). Needs `post_gating_bias`.
  TORCH_ARG(bool, centred) = false;
  /// The probability with which *you* zero features before they come here (inverted dropout). The
  /// layer drops nothing itself; Lemma 2 needs the number.
  TORCH_ARG(double, dropout) = 0.0;
  /// How many of the features, the last, *you* make by a branch beside the gated path (IsoGMLP).
  TORCH_ARG(int64_t, branch) = 0;
};

/// A linear layer that can be watched: put it where the down-projection of a gated layer stands.
/// Input [..., in], output [..., out]. Parameters, in this order: `weight` [out, in], and where
/// asked `post_gating_bias` [in] (a buffer where it is centred) and `bias` [out]. Weights start as
/// torch::nn::Linear's do.
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

  /// What enters the activation of the gate in the pass to come, of phi's shape, for those who
  /// watch. It is kept until that pass, and not at all where nobody listens.
  void show_gates(const torch::Tensor& inputs);

  /// From now on passes in training mode add up phi, or no longer.
  void gather_mean(bool on);
  /// What they added up since it was last taken: the sums over all tokens and their number,
  /// [d_ff + 1], double. Zeros where there was no pass.
  torch::Tensor take_sums();

  TappedLinearOptions options;
  torch::Tensor weight, bias, post_gating_bias;
  Tap tap;

 private:
  torch::Tensor gate_inputs_;
  bool gathers_ = false;
  torch::Tensor sums_;  // as take_sums() gives them; undefined: none yet
};
TORCH_MODULE(TappedLinear);

/// Every TappedLinear of `module` with its dotted name, in the order of registration; `module`
/// itself counts, under the name "down". The pointers live as long as the module.
std::vector<std::pair<std::string, TappedLinearImpl*>> find_tapped(torch::nn::Module& module);

}  // namespace kappascope::nn
