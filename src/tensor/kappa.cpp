// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/kappa.h"

#include <utility>

#include "kappascope/core/require.h"
#include "kappascope/tensor/convert.h"

namespace kappascope::tensor {

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
  if (rows.numel() > 0) moments.update(rows.detach().reshape({-1, rows.size(-1)}), {}, group);
  return kappa(moments, bias, options);
}

}  // namespace kappascope::tensor
