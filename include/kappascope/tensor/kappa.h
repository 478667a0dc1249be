// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "kappascope/linalg/features/kappa.h"
#include "kappascope/tensor/moments.h"

namespace kappascope::tensor {

/// LibTorch's LAPACK on all cores, which is several times faster than Eigen for wide layers.
linalg::DenseSolvers lapack();

/// Condition numbers of features with their errors: linalg/features/kappa.h says what they are.
/// Moments are summed on the device where the rows are, and what is solved is solved by LAPACK on
/// the host. Rows whose sums in float hide more than a hundredth of some variance are summed again
/// in double. Solvers that `options` name stay.
///
/// `rows` is [n, d], or [sequences, tokens, d]: the rows of one sequence then count as dependent
/// unless options.rows_per_group says otherwise (1: they are independent). `bias` is [d], or
/// undefined for a layer without one. Throws for tensors of another shape or that are not floating
/// point. Cost: half a product rowsᵀ rows, in double a second one, and that of linalg::kappa().
linalg::Conditioning kappa(const at::Tensor& rows,
                           const at::Tensor& bias = {},
                           const linalg::KappaOptions& options = {});
/// Of all rows that an accumulator has seen.
linalg::Conditioning kappa(const MomentAccumulator& rows,
                           const at::Tensor& bias = {},
                           const linalg::KappaOptions& options = {});
/// Of moments that are given away, so that a wide layer needs the memory of one covariance.
linalg::Conditioning kappa(linalg::Moments moments,
                           const at::Tensor& bias = {},
                           const linalg::KappaOptions& options = {});

}  // namespace kappascope::tensor
