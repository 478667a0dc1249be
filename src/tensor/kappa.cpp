// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/kappa.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kappascope/core/require.h"
#include "kappascope/linalg/features/row_scale.h"
#include "kappascope/tensor/convert.h"

namespace kappascope::tensor {
namespace {

/// Of the entries that are finite.
double largest_magnitude(const at::Tensor& values) {
  const auto [low, high] = values.aminmax();
  const double largest = std::max(-low.item<double>(), high.item<double>());
  if (std::isfinite(largest)) return largest;
  return values.nan_to_num(0, 0, 0).abs().amax().item<double>();
}

}  // namespace

linalg::DenseSolvers lapack() {
  return {
      .eigenpairs = symmetric_eigen, .eigenvalues = symmetric_eigenvalues, .cholesky = cholesky};
}

linalg::Conditioning kappa(linalg::Moments moments,
                           const at::Tensor& bias,
                           const linalg::KappaOptions& options) {
  require(!bias.defined() || (bias.dim() == 1 && bias.is_floating_point()),
          "a bias must be a vector [d] of floating-point numbers, got {} dimensions",
          bias.defined() ? bias.dim() : 0);
  auto by_lapack = options;
  auto& solvers = by_lapack.solvers;
  auto ours = lapack();
  if (!solvers.eigenpairs) solvers.eigenpairs = std::move(ours.eigenpairs);
  if (!solvers.eigenvalues) solvers.eigenvalues = std::move(ours.eigenvalues);
  if (!solvers.cholesky) solvers.cholesky = std::move(ours.cholesky);
  return linalg::kappa(
      std::move(moments), bias.defined() ? to_vector(bias) : Eigen::VectorXd(), by_lapack);
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
  MomentAccumulator moments(rows.size(-1), options.moments);
  if (rows.numel() == 0) return kappa(moments, bias, options);
  const auto values = rows.detach().reshape({-1, rows.size(-1)});
  const double scale = linalg::row_scale(largest_magnitude(values));
  if (scale == 1) {
    moments.update(values, {}, group);
    return kappa(moments, bias, options);
  }
  // The scale may lie beyond the range of narrower types.
  moments.update(values.to(torch::kDouble) * scale, {}, group);
  const bool floating = bias.defined() && bias.is_floating_point();
  return linalg::unscale(kappa(moments, floating ? bias.to(torch::kDouble) * scale : bias, options),
                         scale);
}

}  // namespace kappascope::tensor
