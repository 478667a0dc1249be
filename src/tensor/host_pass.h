// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tensor/centre.h"
#include "tensor/lower_triangle.h"

namespace kappascope::tensor {

/// The fast twin of centre() and LowerTriangle::add_product on the host: rows [n, d] are read once,
/// in chunks that stay in a core's cache, for their differences to the shift, the look for NaN and
/// infinity, the sums and the product. Every thread makes the differences for itself: a shared
/// copy, written by one core and read by another, costs more where cores do not share a cache.
///
/// Sums of at most 128 rows are made in the rows' own type before they go into double: an error of
/// at most 127 · 2⁻²⁴ of the sum of magnitudes for float. Those of third and fourth order are made
/// in double.
class HostPass {
 public:
  /// `rows` contiguous, of the shift's type; `mask` [n] bool or undefined. All must outlive this.
  HostPass(const LowerTriangle& triangle,
           const at::Tensor& rows,
           const at::Tensor& mask,
           const at::Tensor& shift,
           std::int64_t rows_per_group);

  /// packed = scale · packed + XᵀX in the triangle, X the differences of rows [first, first + n),
  /// zero where a row is left out.
  void run(std::int64_t first, std::int64_t n, double scale, const at::Tensor& packed);

  /// Of all rows that were run.
  [[nodiscard]] RowSums result() const;

 private:
  template <typename T>
  void work(std::int64_t worker,
            std::int64_t workers,
            std::int64_t first,
            std::int64_t n,
            double scale,
            const at::Tensor& packed);
  template <typename T>
  void centre_rows(std::int64_t first, std::int64_t n, T* differences, bool record);
  template <typename T>
  void add_sums(std::int64_t first,
                std::int64_t n,
                const T* differences,
                const std::vector<double>& lengths,
                std::int64_t first_column,
                std::int64_t last_column);

  const LowerTriangle& triangle_;
  const at::Tensor& rows_;
  const at::Tensor& shift_;
  at::Tensor mask_;
  std::int64_t rows_per_sum_;
  at::Tensor sums_;     // [groups, d] double
  at::Tensor squares_;  // [groups, d] double
  at::Tensor powers_;   // [3, d] double, as RowSums::powers
  double length_fourth_ = 0;
  std::vector<std::uint8_t> non_finite_;  // [n], of the mask's rows
};

}  // namespace kappascope::tensor
