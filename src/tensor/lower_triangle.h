// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace kappascope::tensor {

/// Sums of products XᵀX, of which only the lower triangle is kept, in strips: strip i holds the
/// rows [first, last) of the triangle and the columns [0, last), one strip after the other in a
/// packed vector of little more than half of d². What lies above the diagonal in a strip is right
/// too.
class LowerTriangle {
 public:
  explicit LowerTriangle(std::int64_t dimension);

  /// A packed triangle of zeros.
  [[nodiscard]] at::Tensor zeros(const at::TensorOptions& options) const;

  /// packed = scale · packed + XᵀX for X = centred [n, d], on the device where both are.
  void add_product(const at::Tensor& centred, double scale, const at::Tensor& packed) const;

  /// A pair of strips from either end: every pair is the same work. One strip alone is a pair too.
  [[nodiscard]] std::int64_t pairs() const { return (strips() + 1) / 2; }
  /// add_product for the strips of one pair.
  void add_pair(std::int64_t pair,
                const at::Tensor& centred,
                double scale,
                const at::Tensor& packed) const;

  /// The symmetric matrix [d, d] on the host, in double.
  [[nodiscard]] Eigen::MatrixXd unpack(const at::Tensor& packed) const;
  /// The way back, from the lower triangle of a matrix.
  [[nodiscard]] at::Tensor pack(const Eigen::MatrixXd& lower,
                                const at::TensorOptions& options) const;

 private:
  [[nodiscard]] std::int64_t strips() const { return static_cast<std::int64_t>(ends_.size()); }
  [[nodiscard]] std::int64_t begin(std::int64_t i) const {
    return i == 0 ? 0 : ends_[static_cast<std::size_t>(i - 1)];
  }
  [[nodiscard]] std::int64_t end(std::int64_t i) const {
    return ends_[static_cast<std::size_t>(i)];
  }
  // [rows of the strip, its columns], a view.
  [[nodiscard]] at::Tensor strip(std::int64_t i, const at::Tensor& packed) const;
  void multiply_strip(std::int64_t i,
                      const at::Tensor& centred,
                      double scale,
                      const at::Tensor& packed) const;

  std::vector<std::int64_t> ends_;
  std::vector<std::int64_t> offsets_;  // of the strips in the packed vector, and its size
};

/// to += from, both on one device, `to` in double: LibTorch's own is several times slower on the
/// host where the types differ.
void add_widened(const at::Tensor& from, const at::Tensor& to);

}  // namespace kappascope::tensor
