// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kappascope/tensor/state.h"

namespace kappascope::tensor {

/// The mean cosine between two different rows, over all pairs of them: 0 where their directions
/// spread evenly, 1 where all point one way (the anisotropy of Ethayarajh 2019, here without
/// sampling pairs). With s the sum of the n rows, each divided by its length, it is
/// (‖s‖² - n) / (n(n-1)).
class MeanCosine {
 public:
  /// Adds rows [tokens, d], on any device. Rows of length zero, and those with a NaN or an
  /// infinity, have no direction and are left out. Lengths and sums of one call are of the rows'
  /// type (at least float), so a call's share of s is off by about √tokens · 2⁻²⁴.
  void update(const at::Tensor& rows);

  /// Adds what `other` has seen.
  void merge(const MeanCosine& other);

  /// NaN below two rows.
  [[nodiscard]] double result() const;
  [[nodiscard]] std::int64_t rows() const { return rows_; }

  [[nodiscard]] State state() const;
  /// Takes a state over. Throws Error where it is none.
  void load(const State& state);

 private:
  at::Tensor sum_;  // s: [d], double; undefined before the first row
  std::int64_t rows_ = 0;
};

}  // namespace kappascope::tensor
