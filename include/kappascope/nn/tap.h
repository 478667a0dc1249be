// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <utility>

namespace kappascope::nn {

/// What passes a tapped down-projection in one forward pass.
struct TapView {
  at::Tensor features;  ///< phi: [..., d_ff], after the gate and the dropout mask, before b
  at::Tensor bias;      ///< b: [d_ff], the post-gating bias; undefined where the layer has none
  double dropout = 0;   ///< probability with which features were zeroed in this pass
  at::Tensor output;    ///< Z: [..., d_model], part of the graph when gradients are recorded
  at::Tensor weight;    ///< W_d: [d_model, d_ff]
  int64_t branch = 0;   ///< so many features, the last, come of a branch beside the gated path
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

}  // namespace kappascope::nn
