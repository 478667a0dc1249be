// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/attention.h"

#include <cmath>
#include <cstdlib>
#include <optional>

#include "theory/checks/bias_redundancy/arithmetic.h"
#include "theory/checks/bias_redundancy/norms.h"

namespace kappascope::theory {
namespace {

template <typename Scalar>
Matrix<Scalar> project(const Matrix<Scalar>& x,
                       const Matrix<Scalar>& weight,
                       const Vector<Scalar>& bias) {
  Matrix<Scalar> out = x * weight;
  if (bias.size() > 0) out = out.plus_row(bias.transpose());
  return out;
}

template <typename Scalar>
void normalise_rows(Matrix<Scalar>& rows, const Vector<Scalar>& gain, const Scalar& epsilon) {
  if (gain.size() == 0) return;
  for (Index i = 0; i < rows.rows(); ++i) {
    const Vector<Scalar> row = rows.row(i).transpose();
    rows.row(i) = rms_norm(row, epsilon).value().cwise_product(gain).transpose();
  }
}

/// Row n is turned by n steps of each plane.
template <typename Scalar>
void rotate_rows(Matrix<Scalar>& rows, const std::vector<PlaneRotation<Scalar>>& rotary) {
  const auto planes = static_cast<Index>(rotary.size());
  for (Index plane = 0; plane < planes; ++plane) {
    const auto& step = rotary[static_cast<std::size_t>(plane)];
    Scalar cosine = 1, sine = 0;
    for (Index n = 0; n < rows.rows(); ++n) {
      const Scalar first = rows(n, plane), second = rows(n, plane + planes);
      rows(n, plane) = first * cosine - second * sine;
      rows(n, plane + planes) = second * cosine + first * sine;
      const Scalar next = cosine * step.cosine - sine * step.sine;
      sine = cosine * step.sine + sine * step.cosine;
      cosine = next;
    }
  }
}

template <typename Scalar>
bool visible(const AttentionBlock<Scalar>& block, Index n, Index i) {
  return !(block.causal && i > n) && !(block.window > 0 && std::abs(n - i) >= block.window);
}

/// One row of P from its scores; the largest logit is taken out first, which changes nothing.
template <typename Scalar>
void softmax(Matrix<Scalar>& scores,
             Index n,
             const AttentionBlock<Scalar>& block,
             const std::optional<Scalar>& sink) {
  std::optional<Scalar> largest = sink;
  for (Index i = 0; i < scores.cols(); ++i) {
    if (visible(block, n, i) && (!largest || scores(n, i) > *largest)) largest = scores(n, i);
  }
  Scalar total = sink ? exponential(*sink - *largest) : Scalar(0);
  for (Index i = 0; i < scores.cols(); ++i) {
    scores(n, i) = visible(block, n, i) ? exponential(scores(n, i) - *largest) : Scalar(0);
    total += scores(n, i);
  }
  for (Index i = 0; i < scores.cols(); ++i) scores(n, i) /= total;
}

}  // namespace

template <typename Scalar>
Matrix<Scalar> attention_weights(const AttentionBlock<Scalar>& block,
                                 const Matrix<Scalar>& x,
                                 Index head) {
  const Index d = block.head_width();
  const Index kv_head = head / (block.heads / block.kv_heads);
  Matrix<Scalar> q = project(x, block.query, block.query_bias).middle_cols(head * d, d);
  Matrix<Scalar> k = project(x, block.key, block.key_bias).middle_cols(kv_head * d, d);
  normalise_rows(q, block.query_gain, block.epsilon);
  normalise_rows(k, block.key_gain, block.epsilon);
  rotate_rows(q, block.rotary);
  rotate_rows(k, block.rotary);

  Matrix<Scalar> scores = q * k.transpose() * block.scale;
  if (block.cap != 0) {
    for (auto& score : scores) score = soft_capped(score, block.cap);
  }
  std::optional<Scalar> sink;
  if (block.sinks.size() > 0) sink = block.sinks(head);
  for (Index n = 0; n < scores.rows(); ++n) softmax(scores, n, block, sink);
  return scores;
}

template <typename Scalar>
Matrix<Scalar> attention(const AttentionBlock<Scalar>& block,
                         const Matrix<Scalar>& x,
                         const std::vector<Matrix<Scalar>>& masks) {
  const Index d = block.head_width();
  const Matrix<Scalar> v = project(x, block.value, block.value_bias);
  Matrix<Scalar> y = Matrix<Scalar>::zero(x.rows(), block.output.cols());
  for (Index head = 0; head < block.heads; ++head) {
    Matrix<Scalar> p = attention_weights(block, x, head);
    if (!masks.empty()) p = p.cwise_product(masks[static_cast<std::size_t>(head)]);
    const Index kv_head = head / (block.heads / block.kv_heads);
    y += p * v.middle_cols(kv_head * d, d) * block.output.middle_rows(head * d, d);
  }
  if (block.output_bias.size() > 0) y = y.plus_row(block.output_bias.transpose());
  return y;
}

template <typename Scalar>
Matrix<Scalar> value_bias_output(const AttentionBlock<Scalar>& block) {
  Matrix<Scalar> out = Matrix<Scalar>::zero(block.heads, block.output.cols());
  if (block.value_bias.size() == 0) return out;
  const Index d = block.head_width();
  for (Index head = 0; head < block.heads; ++head) {
    const Index kv_head = head / (block.heads / block.kv_heads);
    out.row(head) = block.value_bias.segment(kv_head * d, d).transpose() *
                    block.output.middle_rows(head * d, d);
  }
  return out;
}

template Matrix<double> attention_weights(const AttentionBlock<double>&,
                                          const Matrix<double>&,
                                          Index);
template Matrix<Rational> attention_weights(const AttentionBlock<Rational>&,
                                            const Matrix<Rational>&,
                                            Index);
template Matrix<double> attention(const AttentionBlock<double>&,
                                  const Matrix<double>&,
                                  const std::vector<Matrix<double>>&);
template Matrix<Rational> attention(const AttentionBlock<Rational>&,
                                    const Matrix<Rational>&,
                                    const std::vector<Matrix<Rational>>&);
template Matrix<double> value_bias_output(const AttentionBlock<double>&);
template Matrix<Rational> value_bias_output(const AttentionBlock<Rational>&);

}  // namespace kappascope::theory
