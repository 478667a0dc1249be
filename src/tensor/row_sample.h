// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kappascope/linalg/random.h"
#include "kappascope/tensor/state.h"

namespace kappascope::tensor {

/// Rows of a stream of sequences, as they are, where they are: of every sequence the same share of
/// its rows, as large a share as at most `capacity` rows allow; where one row of each would be more
/// than that, of every second sequence, and so on. Rows within a sequence are spread evenly from a
/// random first. Memory: the capacity, and while rows are added those of their
/// pass.
class RowSample {
 public:
  explicit RowSample(int64_t capacity, std::uint64_t seed = 0);

  /// Adds rows [tokens, d]; `mask` [tokens] bool, where given, leaves rows out. Rows of a sequence
  /// follow each other. Throws where a sequence's length does not divide the rows.
  void update(const at::Tensor& rows, const at::Tensor& mask, int64_t rows_per_group);
  /// Adds what another has kept of other sequences.
  void merge(const RowSample& other);
  /// Keeps at most so many from now on.
  void limit(int64_t capacity);

  /// [kept, d], in the order in which they came.
  [[nodiscard]] at::Tensor rows() const;
  /// Rows kept of each sequence, none of them 0.
  [[nodiscard]] const std::vector<int64_t>& group_rows() const { return group_rows_; }
  [[nodiscard]] int64_t kept() const { return kept_; }

  [[nodiscard]] State state() const;
  /// Throws Error where it is no state of one of rows of this width.
  void load(const State& state, int64_t dimension);

 private:
  /// Keeps half of the rows of each sequence, or where each has one row half of the sequences.
  void thin();

  int64_t capacity_;
  linalg::Random random_;
  int64_t rows_stride_ = 1, groups_stride_ = 1;
  int64_t groups_seen_ = 0, kept_ = 0;
  std::vector<at::Tensor> pieces_;
  std::vector<int64_t> group_rows_;
};

}  // namespace kappascope::tensor
