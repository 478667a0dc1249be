// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kappascope::tensor {

/// Products XᵀX of which only the lower triangle is wanted, in strips: strip i holds the rows
/// [first, last) of the triangle and the columns [0, last). What lies above the diagonal in a strip
/// is written too and means nothing.
class LowerTriangle {
 public:
  explicit LowerTriangle(std::int64_t dimension);

  /// out [d, d] = scale · out + XᵀX for X = centred [n, d], on the device where both are.
  void add_product(const at::Tensor& centred, double scale, const at::Tensor& out) const;

  /// A pair of strips from either end: every pair is the same work. One strip alone is a pair too.
  [[nodiscard]] std::int64_t pairs() const { return (strips() + 1) / 2; }
  /// add_product for the strips of one pair.
  void add_pair(std::int64_t pair,
                const at::Tensor& centred,
                double scale,
                const at::Tensor& out) const;

  /// to [d, d] double += from [d, d], on the device where both are.
  void add(const at::Tensor& from, const at::Tensor& to) const;

 private:
  [[nodiscard]] std::int64_t strips() const { return static_cast<std::int64_t>(ends_.size()); }
  [[nodiscard]] std::int64_t begin(std::int64_t i) const {
    return i == 0 ? 0 : ends_[static_cast<std::size_t>(i - 1)];
  }
  [[nodiscard]] std::int64_t end(std::int64_t i) const {
    return ends_[static_cast<std::size_t>(i)];
  }
  void multiply_strip(std::int64_t i,
                      const at::Tensor& centred,
                      double scale,
                      const at::Tensor& out) const;

  std::vector<std::int64_t> ends_;
};

}  // namespace kappascope::tensor
