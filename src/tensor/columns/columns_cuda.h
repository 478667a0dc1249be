// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/tensor/columns.h"

namespace kappascope::tensor {

#ifdef KAPPASCOPE_CUDA
constexpr bool kHasKernels = true;
#else
constexpr bool kHasKernels = false;
#endif

/// The same through src/cuda/columns, on the current stream of the device where w is. Defined in
/// builds that have the kernels.
Eigen::VectorXd dots_cuda(Columns columns, const at::Tensor& w);
double norm_cuda(const at::Tensor& w);
double subtract_cuda(Columns columns, const Eigen::VectorXd& c, const at::Tensor& w);
Eigen::VectorXd subtract_dots_cuda(Columns columns, const Eigen::VectorXd& c, const at::Tensor& w);
/// More columns than a launch takes go through combine_anywhere.
void combine_cuda(Columns columns, const Eigen::MatrixXd& y);
void store_cuda(double factor, const at::Tensor& w, const at::Tensor& column);

}  // namespace kappascope::tensor
