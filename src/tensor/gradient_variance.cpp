// SPDX-License-Identifier: Apache-2.0
#include "tensor/gradient_variance.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/require.h"
#include "tensor/autocast.h"
#include "tensor/full_float.h"

namespace kappascope::tensor {
namespace {

// Standard error of a mean from the influence of each row, by clusters of rows: the clusters' sums
// are independent where rows are not. group: [n], the cluster of each row, one of `groups`.
double standard_error(const at::Tensor& influence, const at::Tensor& group, int64_t groups) {
  const auto n = influence.size(0);
  if (groups < 2) return std::numeric_limits<double>::infinity();
  const auto centred = influence - influence.mean();
  const auto sums = torch::zeros({groups}, centred.options()).index_add(0, group, centred);
  const double correction = static_cast<double>(groups) / static_cast<double>(groups - 1);
  return std::sqrt(correction * sums.square().sum().item<double>()) / static_cast<double>(n);
}

}  // namespace

GradientVariance gradient_variance(const at::Tensor& phi_in,
                                   const at::Tensor& gamma_in,
                                   const at::Tensor& bias,
                                   double dropout,
                                   int64_t rows_per_group,
                                   const at::Tensor& mask) {
  torch::NoGradGuard no_grad;
  // As exact as its features, whatever training rounds to for speed.
  const FullFloat full_float;
  const Autocast none(phi_in.device().type(), std::nullopt);
  require(phi_in.dim() == 2 && gamma_in.dim() == 2 && phi_in.size(0) == gamma_in.size(0) &&
              phi_in.size(0) > 0,
          "gradient_variance needs features and gradients of the same tokens");
  require(dropout >= 0 && dropout < 1, "dropout must be in [0, 1), got {}", dropout);
  require(rows_per_group > 0 && phi_in.size(0) % rows_per_group == 0,
          "groups of {} rows do not divide {} rows",
          rows_per_group,
          phi_in.size(0));
  const auto all = torch::arange(phi_in.size(0), phi_in.options().dtype(torch::kLong));
  const auto kept = mask.defined() ? all.index({mask}) : all;
  const auto phi_kept = mask.defined() ? phi_in.index_select(0, kept) : phi_in;
  const auto gamma_kept = mask.defined() ? gamma_in.index_select(0, kept) : gamma_in;
  require(kept.size(0) > 0, "gradient_variance needs a row that counts");
  const auto [distinct, group, counts] =
      torch::unique_consecutive(kept.div(rows_per_group, "floor"), /*return_inverse=*/true);
  const auto error_of = [&, groups = distinct.size(0), in = group](const at::Tensor& influence) {
    return standard_error(influence, in, groups);
  };
  // What multiplies the features by a matrix or a vector runs in their own precision, on features
  // about their mean, so that a large mean costs no digits there; what is made of the gradients
  // alone, and the means of the rows' terms, are double.
  const auto type = phi_kept.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
  const auto n = static_cast<double>(phi_kept.size(0));
  const auto gamma = gamma_kept.to(torch::kDouble);
  const auto mean_phi = phi_kept.mean(0, /*keepdim=*/false, torch::kDouble);  // [d_ff]
  const auto shift = mean_phi.to(type).to(torch::kDouble);
  const auto c = phi_kept.to(type) - shift.to(type);            // [n, d_ff]
  const auto cross = c.t().matmul(gamma_kept.to(type)).div(n);  // [d_ff, d_model] E cγᵀ
  const auto crossed = c.matmul(cross).to(torch::kDouble).mul(gamma).sum(1);  // [n] cᵀ E[cγᵀ] γ
  const auto cross_wide = cross.to(torch::kDouble);
  const auto squared = c.square().sum(1, /*keepdim=*/false, torch::kDouble);  // [n] ‖c‖²
  const auto w = gamma.square().sum(1);                                       // [n] ‖γ‖²
  const auto mean_w = w.mean();
  const auto mean_gamma = gamma.mean(0);  // [d_model]
  const auto along = gamma.mv(mean_gamma);
  const auto b = bias.defined() ? bias.to(torch::kDouble) : torch::zeros_like(mean_phi);

  // What one bias makes of the rows: y = φ + b = c + t with t = shift + b, E yγᵀ = E cγᵀ + t Eγᵀ.
  struct AtBias {
    at::Tensor squared;    // [n] ‖y‖²
    at::Tensor matched;    // [n] yᵀ E[yγᵀ] γ
    at::Tensor mean_norm;  // ‖E yγᵀ‖²
  };
  const auto at_bias = [&](const at::Tensor& at_b) -> AtBias {
    const auto t = shift + at_b;
    const auto tt = t.square().sum();
    const auto ct = c.mv(t.to(type)).to(torch::kDouble);
    const auto t_cross = cross_wide.t().mv(t);  // [d_model]
    return {
        squared + 2 * ct + tt,
        crossed + (ct + tt) * along + gamma.mv(t_cross),
        cross_wide.square().sum() + 2 * t_cross.dot(mean_gamma) + tt * mean_gamma.square().sum()};
  };
  // Var g at some b: the mean of ‖y γᵀ - E y γᵀ‖², whose influence of a row is its own term (the
  // mean's own error is of second order).
  const auto variance_of = [&](const AtBias& y) -> Measured {
    const auto terms = y.squared * w - 2 * y.matched + y.mean_norm;
    return {terms.mean().item<double>(), error_of(terms)};
  };
  // E a · E w for a row statistic a.
  const auto product = [&](const at::Tensor& a) -> Measured {
    const auto mean_a = a.mean();
    return {(mean_a * mean_w).item<double>(), error_of(a * mean_w + mean_a * w)};
  };

  GradientVariance result;
  result.rows = phi_kept.size(0);
  const auto y = at_bias(b);
  const auto& a = y.squared;
  result.measured = variance_of(y);
  result.derived = product(a);
  // Σ_j pσ_j² + (pμ_j + b_j)² with S/p in the lemma's place of S, written by what the mask leaves:
  // E φ² = E S² / p gives ‖y‖² less the masked mean's term.
  const double keep = 1 - dropout;
  const auto phi_mean = c.mv(mean_phi.to(type)).to(torch::kDouble) + shift.dot(mean_phi);
  const auto missing = (1 - keep) / keep * (2 * phi_mean - mean_phi.square().sum());
  result.published = product(a - missing);
  const auto product_terms = (a - a.mean()) * (w - mean_w);
  result.independence = {product_terms.mean().item<double>(), error_of(product_terms)};
  result.zero_mean = {y.mean_norm.item<double>(), error_of(2 * y.matched)};

  result.b_zero = variance_of(at_bias(torch::zeros_like(b)));
  result.b_minus_mean = variance_of(at_bias(-mean_phi));
  // V(b) = Σ_j A_j + 2 b_j B_j + b_j² C is a parabola in each b_j; C = 0 only when γ is constant.
  const auto curvature = mean_w - mean_gamma.square().sum();
  const auto slope = c.t().mv(w.to(type)).to(torch::kDouble) / n - cross_wide.mv(mean_gamma);
  result.minimiser =
      curvature.item<double>() > 0 ? -slope / curvature - shift : torch::zeros_like(b);
  result.b_minimiser = variance_of(at_bias(result.minimiser));
  return result;
}

CriticalBatch critical_batch(Measured variance, Measured mean_square, double rows, double reach) {
  // The variance has the divisor `rows`.
  const auto ratio = [rows](double variance_of_rows, double mean) {
    const double noise = variance_of_rows * rows / (rows - 1), signal = mean - noise / rows;
    return rows > 1 && signal > 0 ? noise / signal : std::numeric_limits<double>::infinity();
  };
  const double less = std::max(0.0, variance.value - reach * variance.error);
  const double more = variance.value + reach * variance.error;
  return {ratio(variance.value, mean_square.value),
          ratio(less, mean_square.value + reach * mean_square.error),
          ratio(more, mean_square.value - reach * mean_square.error)};
}

}  // namespace kappascope::tensor
