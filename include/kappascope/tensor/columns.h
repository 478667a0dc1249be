// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <Eigen/Core>
#include <span>

/// What a Krylov method does with its vectors, for columns in the type and on the device of a
/// network's parameters and one work vector w in double. Every sum is taken in double: float32
/// sums are wrong by 1e-4 at 4 million elements, and an eigenvalue is such a sum.
///
/// A column is a contiguous [n] of float32 or float64; all of one call are of one type and on the
/// device of w. On the host a pass goes piece by piece over all columns, on LibTorch's threads; on
/// a CUDA device it is a kernel (src/cuda/columns), in builds that have them; elsewhere it goes
/// through LibTorch's own operations. Every sum of n products is off by at most n · 2⁻⁵³ of the sum
/// of magnitudes, to first order. The host's pass and the kernels give the same bits for the same
/// columns again, on the host with as many threads.
namespace kappascope::tensor {

using Columns = std::span<const at::Tensor>;

/// [columns] column · w.
Eigen::VectorXd dots(Columns columns, const at::Tensor& w);
/// ‖w‖.
double norm(const at::Tensor& w);
/// w -= Σ c_i column_i, c: [columns]; returns ‖w‖ as it is then. A column with c_i = 0 is not read.
double subtract(Columns columns, const Eigen::VectorXd& c, const at::Tensor& w);
/// subtract, then dots, in one pass over w.
Eigen::VectorXd subtract_dots(Columns columns, const Eigen::VectorXd& c, const at::Tensor& w);
/// The first y.cols() columns become [columns] y, y: [columns, k <= columns].
void combine(Columns columns, const Eigen::MatrixXd& y);
/// column = factor · w, rounded to its type.
void store(double factor, const at::Tensor& w, const at::Tensor& column);

/// The same by LibTorch's operations, on any device.
Eigen::VectorXd dots_anywhere(Columns columns, const at::Tensor& w);
double norm_anywhere(const at::Tensor& w);
void subtract_anywhere(Columns columns, const Eigen::VectorXd& c, const at::Tensor& w);
void combine_anywhere(Columns columns, const Eigen::MatrixXd& y);

}  // namespace kappascope::tensor
