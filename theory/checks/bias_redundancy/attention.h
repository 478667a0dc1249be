// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "theory/exact/rational.h"

/// Self-attention written out, for double and for Rational (see arithmetic.h for the units that
/// make it exact there). For token n of a sequence x [s, width] and one head of width d:
///
///   q = x W_Q + b_Q,  k = x W_K + b_K,  v = x W_V + b_V
///   q, k <- RMS norm with gain                                     where there is a gain
///   q_n, k_n <- turned by n steps                                  where there is a rotation
///   s_ni = scale·q_nᵀk_i, soft-capped to cap·tanh(s_ni/cap)        where there is a cap
///   P_ni = e^{s_ni}/(Σ_j e^{s_nj} + e^{sink})                      over the visible tokens j
///   y_n = Σ_h Σ_i (M ∘ P)_ni v_i W_O + b_O                         M a dropout mask, or all ones
namespace kappascope::theory {

/// How far one position turns one plane.
template <typename Scalar>
struct PlaneRotation {
  Scalar cosine, sine;
};

template <typename Scalar>
struct AttentionBlock {
  Index heads = 1, kv_heads = 1;             ///< query head h reads key head h/(heads/kv_heads)
  Matrix<Scalar> query, key, value, output;  ///< [width, heads·d], [width, kv_heads·d] twice,
                                             ///< [heads·d, width of y]
  Vector<Scalar> query_bias, key_bias, value_bias, output_bias;  ///< empty: none
  Vector<Scalar> query_gain, key_gain;  ///< [d] of the query-key norm; empty: not normalised
  Scalar epsilon = 0;                   ///< of the query-key norm
  /// Plane i holds the coordinates i and i + rotary.size() of a head (Llama's rotate_half); the
  /// coordinates from 2·rotary.size() on are left alone.
  std::vector<PlaneRotation<Scalar>> rotary;
  Scalar scale = 1;
  Scalar cap = 0;  ///< 0: no soft-capping
  bool causal = false;
  Index window = 0;      ///< token i is visible to n when |n - i| < window; 0: no window
  Vector<Scalar> sinks;  ///< [heads] logits that take weight and give no value; empty: none

  [[nodiscard]] Index head_width() const { return query.cols() / heads; }
};

/// P of one head, [s, s], before dropout. O(s² d).
template <typename Scalar>
Matrix<Scalar> attention_weights(const AttentionBlock<Scalar>& block,
                                 const Matrix<Scalar>& x,
                                 Index head);

/// y [s, width of y]. `masks`: M of every head, [s, s] each; empty: no dropout.
template <typename Scalar>
Matrix<Scalar> attention(const AttentionBlock<Scalar>& block,
                         const Matrix<Scalar>& x,
                         const std::vector<Matrix<Scalar>>& masks = {});

/// b_V W_O as one row of W_O's output per query head, [heads, width of y]: what a row of P that
/// sums to one makes of b_V. Zero rows where there is no b_V.
template <typename Scalar>
Matrix<Scalar> value_bias_output(const AttentionBlock<Scalar>& block);

}  // namespace kappascope::theory
