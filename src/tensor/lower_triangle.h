// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kappascope::tensor {

/// Products XᵀX of which only the lower triangle is wanted, in strips: strip i holds the rows
/// [first, last) of the triangle and the columns [0, last). What lies above the diagonal in a strip
/// is computed too, and is right.
class LowerTriangle {
 public:
  explicit LowerTriangle(std::int64_t dimension);

  /// out [d, d] = scale · out + XᵀX for X = centred [n, d], on the device where both are.
  void add_product(const at::Tensor& centred, double scale, const at::Tensor& out) const;

  /// The same for X = rows - shift [n, d] on the host, rows with a false `keep` left out. Every
  /// thread centres the rows for itself: a shared copy, written by one core and read by another,
  /// costs more where cores do not share a cache. Only where suits_host_threads().
  void add_centred_product(const at::Tensor& rows,
                           const at::Tensor& keep,
                           const at::Tensor& shift,
                           double scale,
                           const at::Tensor& out) const;

  /// Whether each thread finds strips enough for add_centred_product to be the faster one.
  [[nodiscard]] bool suits_host_threads() const;

  /// to += from.
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
