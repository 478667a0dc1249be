// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "kappascope/linalg/learning.h"

namespace kappascope::tensor {

struct LearningOptions : linalg::LearningOptions {
  /// Lanczos steps at most; what they leave open makes an interval wider, never wrong.
  int steps = 24;
  /// Random vectors a block of rows; 0: as many as make their error small, one for wide layers.
  int probes = 0;
  std::uint64_t seed = 0;
};

/// Steps of gradient descent until a layer has learned: linalg/learning.h says what that is. The
/// fast twin of linalg::learning(), which never forms a d x d matrix: traces are had by stochastic
/// Lanczos quadrature, where the rows are and in their type (float for narrower ones), scalars in
/// double. Each quadrature has bounds on both sides (Gauss and Gauss-Radau; Golub and Meurant
/// 2010): the estimate goes by their means, weighs those less that are far apart, and says nothing
/// where they differ by a factor of two; the interval holds what either bound gives. The random
/// vectors' error is part of the jackknife's, for every row has its own sign.
///
/// `rows` is [n, d], or [sequences, tokens, d]: the rows of one sequence then count as dependent
/// unless options.rows_per_group says otherwise (1: they are independent). `bias` is [d], or
/// undefined. Throws for tensors of another shape or that are not floating point. Cost: 2 n d
/// multiply-adds a step and column, with 18 columns for a wide layer (22 with a bias) and up to 115
/// for a narrow one. Memory beside the rows: a few vectors of d a column; a copy of the rows
/// where that is small (2²⁵ numbers); where they are narrower than float a piece of 8 MiB, on a
/// device an eighth of them.
linalg::Learning learning(const at::Tensor& rows,
                          const at::Tensor& bias = {},
                          const LearningOptions& options = {});

/// Of rows [n, d] in groups of these numbers of rows, in turn; options.rows_per_group is not read.
linalg::Learning learning(const at::Tensor& rows,
                          const std::vector<int64_t>& group_rows,
                          const at::Tensor& bias,
                          const LearningOptions& options = {});

}  // namespace kappascope::tensor
