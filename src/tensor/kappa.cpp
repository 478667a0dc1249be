// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/kappa.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/require.h"
#include "linalg/features/row_scale.h"
#include "tensor/convert.h"

namespace kappascope::tensor {
namespace {

// A share of a variance that sums in float may take without a second pass in double.
constexpr double kEnough = 0.01;

/// Of the entries that are finite.
double largest_magnitude(const at::Tensor& values) {
  const auto [low, high] = values.aminmax();
  const double largest = std::max(-low.item<double>(), high.item<double>());
  if (std::isfinite(largest)) return largest;
  return values.nan_to_num(0, 0, 0).abs().amax().item<double>();
}

Eigen::VectorXd bias_of(const at::Tensor& bias) {
  if (!bias.defined()) return {};
  require(bias.dim() == 1 && bias.is_floating_point(),
          "a bias must be a vector [d] of floating-point numbers, got {} dimensions",
          bias.dim());
  return to_vector(bias);
}

}  // namespace

linalg::DenseSolvers lapack() {
  return {
      .eigenpairs = symmetric_eigen, .eigenvalues = symmetric_eigenvalues, .cholesky = cholesky};
}

linalg::Conditioning kappa(linalg::Moments moments,
                           const at::Tensor& bias,
                           const linalg::KappaOptions& options) {
  auto by_lapack = options;
  auto& solvers = by_lapack.solvers;
  auto ours = lapack();
  if (!solvers.eigenpairs) solvers.eigenpairs = std::move(ours.eigenpairs);
  if (!solvers.eigenvalues) solvers.eigenvalues = std::move(ours.eigenvalues);
  if (!solvers.cholesky) solvers.cholesky = std::move(ours.cholesky);
  return linalg::kappa(std::move(moments), bias_of(bias), by_lapack);
}

linalg::Conditioning kappa(const MomentAccumulator& rows,
                           const at::Tensor& bias,
                           const linalg::KappaOptions& options) {
  return kappa(rows.result(), bias, options);
}

linalg::Conditioning kappa(const at::Tensor& rows,
                           const at::Tensor& bias,
                           const linalg::KappaOptions& options) {
  require(rows.defined() && (rows.dim() == 2 || rows.dim() == 3),
          "features must be [rows, d] or [sequences, tokens, d], got {} dimensions",
          rows.defined() ? rows.dim() : 0);
  require(rows.is_floating_point(), "features must be floating-point numbers");
  const auto group = options.rows_per_group > 0 ? options.rows_per_group
                     : rows.dim() == 3          ? rows.size(1)
                                                : 1;
  if (rows.numel() == 0)
    return kappa(MomentAccumulator(rows.size(-1), options.moments), bias, options);
  const auto values = rows.detach().reshape({-1, rows.size(-1)});
  if (options.from_rows) {
    auto on_host = options;
    on_host.rows_per_group = group;
    on_host.moments.precision.merge(precision_of(values.scalar_type()));
    return linalg::kappa(to_matrix(values), bias_of(bias), on_host);
  }
  const double scale = linalg::row_scale(largest_magnitude(values));
  if (scale == 1) {
    MomentAccumulator moments(values.size(1), options.moments);
    moments.update(values, {}, group);
    auto found = kappa(moments, bias, options);
    if (found.sum_rounding <= kEnough || values.size(0) <= values.size(1)) return found;
  }
  // Sums in double keep what those in float lose; and the scale may lie beyond the range of
  // narrower types.
  auto in_double = options.moments;
  in_double.precision.merge(precision_of(values.scalar_type()));
  in_double.precision.least *= scale;
  MomentAccumulator moments(values.size(1), in_double);
  moments.update(values.to(torch::kDouble) * scale, {}, group);
  const bool floating = bias.defined() && bias.is_floating_point();
  return linalg::unscale(kappa(moments, floating ? bias.to(torch::kDouble) * scale : bias, options),
                         scale);
}

}  // namespace kappascope::tensor
