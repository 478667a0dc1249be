// SPDX-License-Identifier: Apache-2.0
// How large the values of features are, how unevenly channels share them, and what 8-bit formats
// would keep of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kappascope::tensor {

struct Magnitude {
  double value = 0;             ///< NaN where it is not defined
  double lower = 0, upper = 0;  ///< 95 %; NaN where the rows are of fewer than two sequences
};

/// Of values φ [n, d]. An interval takes sequences as independent and values within one as
/// dependent in any way.
struct Magnitudes {
  int64_t rows = 0, groups = 0;  ///< that hold finite numbers alone; what the rest is of
  Magnitude median, p99;         ///< of |φ| over all rows and channels (intervals: Woodruff 1952)
  /// d Σ_j m_j² / (Σ_j m_j)² with m_j the mean of φ_j²: 1 where channels are alike, d where one is
  /// all (He et al. 2024, "Understanding and minimising outlier features"). Delete-a-block
  /// jackknife over up to 8 blocks of sequences, its bias taken out, so that it can fall below 1
  /// by its error. Where tails are as heavy as those of a cubed normal variable, 60 sequences gave
  /// intervals of which 90 % hold the truth. NaN where all values are 0.
  Magnitude channel_kurtosis;
  Magnitude zeros;  ///< share of the values that are exactly 0
  /// Of the values that are not 0, the share that the format rounds to 0: e4m3 and e5m2
  /// (Micikevicius et al. 2022) with one scale that takes `largest` to the format's largest number,
  /// mxfp8 (OCP Microscaling 1.0, elements e4m3) with a power of two for every 32 neighbouring
  /// channels of a row.
  Magnitude lost_e4m3, lost_e5m2, lost_mxfp8;
};

/// Rows [n, d] of sequences that follow each other, of `group_rows` each; `largest`: the largest
/// |φ| that shares the formats' scale, at least that of the rows. Rows with a number that is not
/// finite are left out. Throws Error where shapes or types do not fit. Cost: one sort of n d
/// values, and about as much again.
Magnitudes magnitudes(const at::Tensor& rows,
                      const std::vector<int64_t>& group_rows,
                      double largest);

}  // namespace kappascope::tensor
