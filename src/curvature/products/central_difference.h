// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "kappascope/tensor/group.h"

namespace kappascope::curvature {

/// Derivatives of a function F of the parameters along directions v, by central differences
/// (F(θ + h v) - F(θ - h v)) / 2h: two evaluations each.
///
/// Their error is h²/6 times the third derivative, and F's rounding over h; both are of the order
/// ε^⅔ at h = ε^⅓ (1 + ‖θ‖) / ‖v‖ (Andrei 2009, after Dembo and Steihaug 1983), which knows
/// nothing of F. The constructor therefore goes down from there by factors of four along a few
/// directions, compares each difference with the one before, and takes the step where they agree
/// best; how far they are apart there is the error. It goes on while they do not agree at all: what
/// F looks like may be told by parameters far smaller than ‖θ‖. The parameters are displaced in
/// place and put back bit for bit, also when F throws.
class CentralDifference {
 public:
  /// `function` gives a tensor of one shape, without graph; `directions`: [size] each, not zero,
  /// the step is chosen for the worst of them. `roundoff` is the one of the coarsest type. Throws
  /// when no step gives finite differences. Cost: 6 to 24 evaluations a direction. Where the
  /// processes of a `group` hold a part of the parameters each, so do `directions`, F and v, and
  /// lengths are those of the whole: every member is then collective.
  CentralDifference(std::vector<at::Tensor> parameters,
                    std::function<at::Tensor()> function,
                    double roundoff,
                    const std::vector<at::Tensor>& directions,
                    tensor::Group* group = nullptr);

  /// In the shape of F and in double. v: [size].
  [[nodiscard]] at::Tensor along(const at::Tensor& v) const;
  /// Estimated error of along(v), relative to ‖v‖ times the largest derivative seen.
  [[nodiscard]] double noise() const { return noise_; }

 private:
  [[nodiscard]] double length_of(const at::Tensor& tensor) const;
  [[nodiscard]] at::Tensor difference(const at::Tensor& v, double step) const;
  void choose_step(double first, double roundoff, const std::vector<at::Tensor>& directions);

  std::vector<at::Tensor> parameters_;
  std::function<at::Tensor()> function_;
  tensor::Group* group_;
  double step_ = 0;  // of a direction of length 1
  double noise_ = 0;
};

}  // namespace kappascope::curvature
