// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "curvature/gathered.h"
#include "kappascope/curvature/operators.h"
#include "tensor/multivector/multivector.h"
#include "tensor/packed.h"

namespace kappascope::curvature {

/// The columns of a linalg::KrylovBasis on the device of the parameters: float32 for parameters in
/// float32 or less, whose products are no better than that, and float64 otherwise; packed ones of
/// 16 bits (tensor/packed.h) where that is asked for. The work vector and all sums are in double.
/// Memory: a column of the basis each, and three vectors in double.
/// Where the processes of a group hold a part of each vector, sums go over all of them, and every
/// member but load(), store(), rotate() and swap() is collective.
class TensorBasis {
 public:
  /// `op` must outlive the basis. Packed columns: see may_be_packed().
  explicit TensorBasis(const CurvatureOperator& op, bool packed = false);
  explicit TensorBasis(const CurvatureOperator&&, bool = false) = delete;

  /// Whether a product may be with a packed column: parameters in float32 or less, on the host.
  static bool may_be_packed(const CurvatureOperator& op);

  /// Of the whole, also where this process holds a part of it.
  [[nodiscard]] Eigen::Index size() const { return size_; }
  /// w = vector, this process's [n] of any type, on any device.
  void load(const at::Tensor& vector) { work_.copy_(vector); }
  /// Drawn on the host, so that a seed means the same on every device.
  void random(std::uint64_t seed);
  /// A product takes most of the memory, and w is not needed meanwhile.
  void multiply(Eigen::Index i);
  [[nodiscard]] Eigen::VectorXd project(Eigen::Index count) const {
    return added_up(kernels_.dots(first(count), work_), group_);
  }
  double subtract(const Eigen::VectorXd& coefficients) {
    return whole(kernels_.subtract(first(coefficients.size()), coefficients, work_));
  }
  [[nodiscard]] Eigen::VectorXd subtract_project(const Eigen::VectorXd& coefficients) {
    return added_up(kernels_.subtract_dots(first(coefficients.size()), coefficients, work_),
                    group_);
  }
  [[nodiscard]] double dot(Eigen::Index i) const;
  [[nodiscard]] double norm() const { return whole(kernels_.norm(work_)); }
  void axpy(double factor, Eigen::Index i);
  void store(Eigen::Index i, double factor);
  void rotate(const Eigen::MatrixXd& y) { kernels_.combine(first(y.rows()), y); }
  void swap(Eigen::Index i, Eigen::Index j) { std::swap(column(i), column(j)); }
  /// [count, n] the first columns; the basis is empty then, so that they are not held twice beside
  /// all others.
  [[nodiscard]] at::Tensor take(Eigen::Index count);

 private:
  /// The length of a vector whose part here has this one.
  [[nodiscard]] double whole(double length) const {
    return group_ == nullptr ? length : std::sqrt(added_up(length * length, group_));
  }
  /// Column i as a product takes it.
  [[nodiscard]] at::Tensor full(Eigen::Index i) {
    return packed_ ? tensor::unpacked(column(i), op_.size()) : column(i);
  }
  [[nodiscard]] at::Tensor& column(Eigen::Index i) { return columns_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] tensor::Multivector first(Eigen::Index count) const {
    return tensor::Multivector(columns_).first(static_cast<std::size_t>(count));
  }
  [[nodiscard]] tensor::Multivector only(Eigen::Index i) const {
    return tensor::Multivector(columns_).subspan(static_cast<std::size_t>(i), 1);
  }

  const CurvatureOperator& op_;
  tensor::Group* group_;
  Eigen::Index size_;
  bool packed_;
  std::vector<at::Tensor> columns_;
  at::Tensor work_;  // [n] in double
  const tensor::MultivectorKernels& kernels_;
};

}  // namespace kappascope::curvature
