// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <Eigen/Core>
#include <span>

namespace kappascope::tensor {

/// Columns of one length n: contiguous [n] tensors of float32 or float64, or packed ones (packed.h)
/// for kernels that take them, all of one type and on one device.
using Multivector = std::span<const at::Tensor>;

/// What a Krylov method does with its vectors: a multivector in the type and on the device of a
/// network's parameters, and one work vector w, [n] in double on the same device. Every sum is
/// taken in double: float32 sums are wrong by 1e-4 at 4 million elements, and an eigenvalue is such
/// a sum. A sum of n products is off by at most n · 2⁻⁵³ of the sum of magnitudes, to first order.
///
/// There are three of them, tested against each other, and on() is the one place that chooses:
/// - host(), the reference: piece by piece over all columns, on LibTorch's threads;
/// - cuda(), its twin: the kernels of src/cuda/multivector, in builds that have them;
/// - torch(): LibTorch's own operations, on any other device.
/// host() and cuda() give the same bits for the same columns again, host() with as many threads.
class MultivectorKernels {
 public:
  /// Those for vectors on a device.
  static const MultivectorKernels& on(const at::Device& device);
  static const MultivectorKernels& host();
  static const MultivectorKernels& torch();

  virtual ~MultivectorKernels() = default;

  /// Whether columns may be packed ones.
  [[nodiscard]] virtual bool take_packed() const { return false; }

  /// [columns] column · w.
  [[nodiscard]] virtual Eigen::VectorXd dots(Multivector columns, const at::Tensor& w) const = 0;
  /// ‖w‖.
  [[nodiscard]] virtual double norm(const at::Tensor& w) const = 0;
  /// w -= Σ c_i column_i, c: [columns]; returns ‖w‖ as it is then. A column with c_i = 0 is not
  /// read.
  virtual double subtract(Multivector columns,
                          const Eigen::VectorXd& c,
                          const at::Tensor& w) const = 0;
  /// subtract, then dots, in one pass over w.
  [[nodiscard]] virtual Eigen::VectorXd subtract_dots(Multivector columns,
                                                      const Eigen::VectorXd& c,
                                                      const at::Tensor& w) const = 0;
  /// The first y.cols() columns become [columns] y, y: [columns, k <= columns].
  virtual void combine(Multivector columns, const Eigen::MatrixXd& y) const = 0;
  /// column = factor · w, rounded to its type.
  virtual void store(double factor, const at::Tensor& w, const at::Tensor& column) const = 0;

 private:
  static const MultivectorKernels& cuda();  // defined in builds that have the kernels
};

}  // namespace kappascope::tensor
