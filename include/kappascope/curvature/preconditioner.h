// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kappascope::curvature {

/// What an optimiser makes of a gradient, θ ← θ − η P⁻¹ m with m an average of gradients: along an
/// eigenvector of P^(-1/2) H P^(-1/2) with eigenvalue λ it is stable while λ < limit.
struct Preconditioner {
  at::Tensor scale{};  ///< [n] the diagonal of P^(-1/2); undefined: P = 1
  double limit = 0;    ///< includes the learning rate of this moment
};

/// (2 + 2β)/η: of gradient descent with momentum, m ← β m + g (β = 0: without). On a quadratic with
/// curvature λ the iterates obey z² − (1 + β − ηλ) z + β = 0, whose roots lie within the unit
/// circle while |1 + β − ηλ| < 1 + β. Cohen et al. (2021), "Gradient descent on neural networks
/// typically occurs at the edge of stability".
double momentum_limit(double rate, double momentum);

/// (2 + 2β₁)/((1 − β₁)η): of Adam, whose m ← β₁ m + (1 − β₁) g is a mean, with P held fixed. As
/// above with η(1 − β₁) for η. Cohen et al. (2022), "Adaptive gradient methods at the edge of
/// stability". Weight decay is not in it.
double adam_limit(double rate, double beta1);

/// An Adam or AdamW after `steps` of them.
struct AdamMoments {
  std::vector<at::Tensor> second{};  ///< exp_avg_sq of each parameter, in their order
  std::int64_t steps = 0;
  double rate = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};

/// P = (1 − β₁ᵗ)(√(v/(1 − β₂ᵗ)) + ε), so that η P⁻¹ m is Adam's step with its corrections for the
/// first steps. Throws Error before the first step.
Preconditioner adam_preconditioner(const AdamMoments& moments);

/// An RMSprop as PyTorch has it: m ← β m + P⁻¹ g, and θ ← θ − η m.
struct RmspropMoments {
  std::vector<at::Tensor> second{};  ///< square_avg of each parameter; centred: less grad_avg²
  double rate = 0, momentum = 0, eps = 1e-8;
};

/// P = √v + ε, with the limit of gradient descent with momentum.
Preconditioner rmsprop_preconditioner(const RmspropMoments& moments);

}  // namespace kappascope::curvature
