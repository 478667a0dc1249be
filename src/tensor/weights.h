// SPDX-License-Identifier: Apache-2.0
// What the weights of a gated layer say without any data.
#pragma once

#include <ATen/core/Tensor.h>

#include "kappascope/linalg/lanczos.h"

namespace kappascope::tensor {

/// The largest singular value of a matrix, and ‖W‖_F² over its square. The ends are where the value
/// surely lies, or, where `certified` is false, some singular value.
struct SpectralNorm {
  double value = 0, lower = 0, upper = 0;
  double stable_rank = 0, stable_rank_lower = 0, stable_rank_upper = 0;
  linalg::KrylovStatus status = linalg::KrylovStatus::kConverged;
  bool certified = true;  ///< 95 % over the random start
};

/// Of a matrix [m, n], by Lanczos on the smaller of W Wᵀ and Wᵀ W, products in W's type (float32
/// for shorter ones). A matrix of zeros has the norm 0 and the stable rank NaN. Throws Error where
/// it is no matrix of floating-point numbers, or empty. Cost: two products with W an iteration,
/// about 20.
SpectralNorm spectral_norm(const at::Tensor& matrix);

/// Of each channel's row of W_gate and of W_up the |cos| between them, over the channels whose rows
/// are not zero. Where they are aligned (or opposed) a SwiGLU channel is a square of one
/// projection, which makes its largest values grow (Fishman et al. 2024, "Scaling FP8 training to
/// trillion-token LLMs"); rows drawn at random have about 1/√d_model.
struct Alignment {
  double median = 0, largest = 0;  ///< NaN where no channel is left
};

/// gate and up: [d_ff, d_model]. Throws Error where their shapes differ. Cost: one pass over both.
Alignment alignment(const at::Tensor& gate, const at::Tensor& up);

}  // namespace kappascope::tensor
