// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace kappascope::curvature {

/// θ + h v while it lives, θ afterwards. Through tensors without autograd's version counter, as
/// graphs that were built before stay valid: the values come back bit for bit.
class Displaced {
 public:
  explicit Displaced(const std::vector<at::Tensor>& parameters);
  ~Displaced();
  Displaced(const Displaced&) = delete;
  Displaced& operator=(const Displaced&) = delete;

  /// v: [size].
  void move(const at::Tensor& v, double h);

 private:
  std::vector<at::Tensor> values_, saved_;
};

}  // namespace kappascope::curvature
