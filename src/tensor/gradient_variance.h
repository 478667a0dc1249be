// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kappascope::tensor {

/// A mean over rows and its standard error.
struct Measured {
  double value = 0, error = 0;
};

/// Lemma 2 of "Post-gating bias" on one batch at fixed weights. The gradient of one token's loss
/// for W_d is g = y γᵀ with y = φ + b the regressor (mask included) and γ the gradient at the
/// layer's output. Summed over all entries of W_d (an orthonormal set of test directions u, all
/// rows j), with divisor n as for moments, exactly
///   Var g = E‖y‖² E‖γ‖² + Cov(‖y‖², ‖γ‖²) - ‖E y γᵀ‖²;
/// the first term is what the lemma speaks of, the others are what independence and E γ = 0 cost.
struct GradientVariance {
  Measured measured;  ///< Var g
  Measured derived;  ///< E‖y‖² E‖γ‖²: the lemma as it should read, for the dropout that ran
  /// The lemma as printed, Σ_j (pσ_j² + (pμ_j + b_j)²) E‖γ‖², for S scaled as inverted dropout
  /// scales it. It lacks the term of the masked mean, ‖μ‖² (1-p)/p, wherever p < 1.
  Measured published;
  Measured independence;  ///< Cov(‖y‖², ‖γ‖²)
  Measured zero_mean;     ///< ‖E y γᵀ‖², which is subtracted
  /// Var g with another b, same masks, γ frozen: b = 0; b = -E φ; and the b that minimises it.
  Measured b_zero, b_minus_mean, b_minimiser;
  at::Tensor minimiser;  ///< [d_ff] the last of these
  int64_t rows = 0;      ///< that counted
};

/// `phi` [n, d_ff], `gamma` [n, d_model] of one token's loss, `bias` [d_ff] or undefined, `dropout`
/// the probability of zeroing (inverted dropout), `rows_per_group` the size of the clusters
/// (sequences) by which standard errors are computed, `mask` [n] bool the rows that count (all
/// where it is undefined). Cost: two products of tokens · d_ff · d_model, in the type of the
/// features (double stays double, else float).
GradientVariance gradient_variance(const at::Tensor& phi,
                                   const at::Tensor& gamma,
                                   const at::Tensor& bias,
                                   double dropout,
                                   int64_t rows_per_group = 1,
                                   const at::Tensor& mask = {});

/// The batch, in rows, at which noise and signal of the gradient are as large as each other: with
/// `variance` that of one row (with divisor `rows`) and `mean_square` = ‖mean‖² of so many rows,
/// σ² / ‖E g‖² with σ² = variance · rows / (rows - 1) and ‖E g‖² = ‖mean‖² - σ² / rows (McCandlish
/// et al. 2018, "An empirical model of large-batch training", their simple noise scale, of one
/// matrix). Infinite where the mean is lost in the noise. `reach` standard errors of both make the
/// bounds.
struct CriticalBatch {
  double value = 0, lower = 0, upper = 0;
};
CriticalBatch critical_batch(Measured variance, Measured mean_square, double rows, double reach);

}  // namespace kappascope::tensor
