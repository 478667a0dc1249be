// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kappascope/tensor/state.h"

namespace kappascope::tensor {

/// How far one step moves a matrix [m, n], as it is stored: by every k-th of its entries, about
/// kEntries of them spread over all rows and columns, compared between one step and the next. A
/// step that was skipped moves nothing. Cost: a copy of these entries a step.
class WeightChanges {
 public:
  static constexpr int64_t kEntries = 4096;

  /// The matrix before the update of `step`. A step seen before adds nothing, and after a gap the
  /// comparison begins anew. Throws Error where the shape has changed.
  void observe(int64_t step, const at::Tensor& matrix);

  /// Steps compared.
  [[nodiscard]] int64_t steps() const { return steps_; }

  /// √(Σ δ² / Σ w²) of a step's update δ and the entries w before it, 95 % over the entries that
  /// were looked at (a jackknife of 16 groups of them, in its logarithm; Wolter 2007, §4); exact
  /// where these are all. Its ends are NaN where none of some moved, and all is NaN where no steps
  /// were compared.
  struct Ratio {
    double value, lower, upper;
  };
  [[nodiscard]] Ratio ratio() const;

  /// Of each entry, the steps that left it as it was to the last bit.
  [[nodiscard]] std::vector<double> unchanged() const;

  [[nodiscard]] State state() const;
  /// Throws Error where it is no state of one.
  void load(const State& state);

 private:
  int64_t numel_ = 0;  // of the matrix; 0: none yet
  int64_t last_step_ = -1, steps_ = 0;
  at::Tensor last_;                      // [entries] in double, on the host
  at::Tensor moved_, size_, unchanged_;  // [entries]: Σ δ², Σ w² and a count over the steps
};

}  // namespace kappascope::tensor
