// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "kappascope/tensor/group.h"

namespace kappascope::train {

/// What one process of a group has of a batch: consecutive rows, of which the first processes have
/// one more where the rows are not divided by the processes. Alone, all of it.
class Share {
 public:
  /// `rows`: [n] of the whole batch, the same in each process, as many as there are processes at
  /// least (TrainConfig::require_shared_by); `group`: null for this alone.
  Share(const at::Tensor& rows, const tensor::Group* group);

  [[nodiscard]] const at::Tensor& rows() const { return rows_; }
  /// Its part of the batch, in (0, 1].
  [[nodiscard]] double of_all() const { return of_all_; }

 private:
  at::Tensor rows_;
  double of_all_ = 1;
};

}  // namespace kappascope::train
