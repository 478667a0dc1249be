// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace kappascope::train {

/// A search for a small change of the inputs that raises the loss most, in the largest norm: from a
/// uniform start, steps along the sign of the gradient, each brought back into the ball of `radius`
/// about the inputs and into [0, 1].
struct AttackOptions {
  double radius = 0.2;  ///< largest change of an input
  double start = 0.2;   ///< half width of the uniform noise that it starts from; 0: the inputs
  double step_size = 0.015;
  int steps = 10;
  std::uint64_t seed = 1;  ///< of the noise, which leaves the global random state alone
};

/// The attack of "Post-gating bias", section 4: uniform noise of 0.2 and ten steps of 0.015. The
/// document calls it the fast gradient sign method, which takes one step from the inputs
/// themselves; it does not name the ball, for which its noise is taken here.
AttackOptions document_attack();
/// The fast gradient sign method (Goodfellow, Shlens and Szegedy 2015): one step of the radius.
AttackOptions fgsm(double radius);
/// Projected gradient descent (Madry et al. 2018): `steps` steps from anywhere in the ball.
AttackOptions pgd(double radius, int steps, double step_size);

/// Inputs after the attack, of their shape. `loss` is a sum over rows, so that rows do not
/// influence each other. inputs: any shape, in [0, 1]. Takes `steps` gradients of the loss with
/// respect to the inputs; leaves the parameters' gradients alone.
at::Tensor attack(const std::function<at::Tensor(const at::Tensor&)>& loss,
                  const at::Tensor& inputs,
                  const AttackOptions& options);

}  // namespace kappascope::train
