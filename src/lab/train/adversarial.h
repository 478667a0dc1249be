// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

namespace kappascope::train {

/// About what the ball lies that an attack stays in: the inputs, the noisy start, or no ball at
/// all.
enum class Ball { kInputs, kStart, kNone };
Ball parse_ball(const std::string& name);  ///< inputs | start | none; throws UsageError

/// A search for a small change of the inputs that raises the loss most, in the largest norm: from a
/// uniform start, steps along the sign of the gradient, each brought back into the ball of `radius`
/// and, if asked, into [0, 1].
struct AttackOptions {
  double radius = 0.2;  ///< largest change of an input
  double start = 0.2;   ///< half width of the uniform noise that it starts from; 0: the inputs
  double step_size = 0.015;
  int steps = 10;
  std::uint64_t seed = 1;  ///< of the noise, which leaves the global random state alone
  Ball ball = Ball::kInputs;
  bool clip = true;  ///< to [0, 1]; false where inputs are not pixels
};

/// The attack of "Post-gating bias", section 4: uniform noise of 0.2 and ten steps of 0.015. The
/// document calls it the fast gradient sign method, which takes one step from the inputs
/// themselves. It names no ball, which by default is its noise about the inputs (about the start,
/// ten steps of 0.015 never reach a radius of 0.2: as without a ball), and does not say whether
/// pixels stay in [0, 1].
AttackOptions document_attack();
/// The fast gradient sign method (Goodfellow, Shlens and Szegedy 2015): one step of the radius.
AttackOptions fgsm(double radius);
/// Projected gradient descent (Madry et al. 2018): `steps` steps from anywhere in the ball.
AttackOptions pgd(double radius, int steps, double step_size);

/// Where the attack on these inputs starts: they themselves, or within noise of them.
at::Tensor attack_start(const at::Tensor& inputs, const AttackOptions& options);

/// The attack from a start of attack_start(), of all inputs or of some rows of both.
at::Tensor attack_from(const std::function<at::Tensor(const at::Tensor&)>& loss,
                       const at::Tensor& inputs,
                       const at::Tensor& start,
                       const AttackOptions& options);

/// Inputs after the attack, of their shape. `loss` is a sum over rows, so that rows do not
/// influence each other. inputs: any shape, in [0, 1] where clipped. Takes `steps` gradients of the
/// loss with respect to the inputs; leaves the parameters' gradients alone.
at::Tensor attack(const std::function<at::Tensor(const at::Tensor&)>& loss,
                  const at::Tensor& inputs,
                  const AttackOptions& options);

}  // namespace kappascope::train
